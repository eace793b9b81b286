//! The program as a process of its own, beside an API server that calls it.

use std::ffi::OsStr;
use std::fs;
use std::net::SocketAddr;
use std::process::Stdio;

use env_injector::app;
use k8s_openapi::api::apps::v1::Deployment;
use kubewright::Program;
use kubewright::certificates::TrustBundle;
use kubewright::manifests::Endpoint;
use kubewright::testing::{Server, TestCluster, yaml};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::{Duration, timeout};

/// How long something may take to be seen before a test gives up.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A running program, and the cluster that calls it.
pub(crate) struct Running {
    pub(crate) cluster: TestCluster,
    pub(crate) address: SocketAddr,
    metrics: SocketAddr,
    log: Lines<BufReader<ChildStderr>>,
    seen: String,
    child: Child,
}

impl Running {
    /// Starts the program, and makes the API server call it at its URL.
    async fn start(level: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let ca = directory.path().join("ca.crt");
        let flags = ["--self-signed", "127.0.0.1", "--write-ca"].map(OsStr::new);
        let running = Self::with_flags(level, &[&flags[..], &[ca.as_os_str()]].concat()).await;

        let trust = TrustBundle::from_pem(fs::read(&ca).unwrap()).unwrap();
        let endpoint = Endpoint::url(&format!("https://{}", running.address)).unwrap();
        let manifests = Program::new(app).manifests(endpoint, Some(&trust)).unwrap();
        for object in manifests.objects() {
            running.cluster.apply(object).await.expect_allowed();
        }
        running
    }

    /// Starts the program as it is started in a cluster, before anything leads to it.
    pub(crate) async fn with_own_certificates(level: &str) -> Self {
        Self::with_flags(level, &[]).await
    }

    async fn with_flags(level: &str, flags: &[&OsStr]) -> Self {
        let cluster = TestCluster::builder().on(Server::Embedded).listen().start();
        let cluster = cluster.await;
        let directory = tempfile::tempdir().unwrap();
        let kubeconfig = directory.path().join("kubeconfig");
        fs::write(&kubeconfig, cluster.kubeconfig()).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_env-injector"))
            .args([
                "run",
                "--listen",
                "127.0.0.1:0",
                "--metrics-bind-address",
                "127.0.0.1:0",
            ])
            .args(["--propagation", "0", "--log-level", level])
            .args(flags)
            .env("KUBECONFIG", &kubeconfig)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = async |start: &str| {
            let line = timeout(TIMEOUT, output.next_line()).await.unwrap();
            let line = line.unwrap().expect("the program runs");
            let address = line.strip_prefix(start).expect("it says where it is");
            address.parse::<SocketAddr>().unwrap()
        };
        let metrics = said("serving metrics on http://").await;
        assert_eq!(said("serving health probes on http://").await, metrics);
        let address = said("serving webhooks on https://").await;
        Self {
            cluster,
            address,
            metrics,
            log: BufReader::new(child.stderr.take().unwrap()).lines(),
            seen: String::new(),
            child,
        }
    }

    async fn level(&self, level: &str) {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "config-logging"}, "data": {"loglevel.env-injector": level},
        });
        self.cluster.apply(&map).await.expect_allowed();
    }

    /// Waits for a line of the log that holds these words, and keeps what comes before.
    async fn told(&mut self, words: &str) {
        let told = async {
            loop {
                let line = self.log.next_line().await.unwrap();
                let line = line.expect("the log goes on");
                self.seen.push_str(&line);
                self.seen.push('\n');
                if line.contains(words) {
                    break;
                }
            }
        };
        assert!(
            timeout(TIMEOUT, told).await.is_ok(),
            "{words}: {}",
            self.seen
        );
    }

    /// Has the injector change a Deployment that is full of what no log may tell.
    async fn inject(&self) {
        let deployment: Deployment = yaml(
            "
            apiVersion: apps/v1
            kind: Deployment
            metadata: {name: app, annotations: {note: canary-in-a-note}}
            spec:
              selector: {matchLabels: {app: helloworld-go}}
              template:
                metadata: {labels: {app: helloworld-go}}
                spec: {containers: [{name: user, image: canary-image, env: [{name: TARGET, value: canary-value}]}]}
            ",
        );
        let stored = self.cluster.create(&deployment).await.expect_allowed();
        let pod = stored.spec.template.spec.unwrap();
        let variables = pod.containers[0].env.as_ref().unwrap();
        assert_eq!(variables[0].value.as_deref(), Some("Sample Injector v1"));
    }

    async fn metrics(&self) -> String {
        let mut stream = TcpStream::connect(self.metrics).await.unwrap();
        let request = "GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }

    /// Ends the program, and returns all that it has logged.
    pub(crate) async fn end(mut self) -> String {
        let id = self.child.id().unwrap().to_string();
        let kill = Command::new("kill").args(["-TERM", &id]).status().await;
        assert!(kill.unwrap().success());
        let rest = async {
            while let Some(line) = self.log.next_line().await.unwrap() {
                self.seen.push_str(&line);
                self.seen.push('\n');
            }
        };
        timeout(TIMEOUT, rest).await.expect("the program ends");
        self.seen
    }
}

#[tokio::test]
async fn the_level_of_the_log_follows_config_logging_while_the_program_runs() {
    let mut running = Running::start("info").await;
    running.level("debug").await;
    running.told("the level of the log has changed").await;
    running.level("warn,kubewright_manager=info").await;
    running.told("warn,kubewright_manager=info").await;
}

#[tokio::test]
async fn reviews_are_counted_for_prometheus() {
    let running = Running::start("info").await;
    running.inject().await;
    let metrics = running.metrics().await;
    let counted = metrics.lines().find(|line| {
        line.starts_with("kubewright_webhook_reviews_total{")
            && line.contains(r#"webhook="env-injector""#)
            && line.contains(r#"decision="changed""#)
    });
    assert!(
        counted.is_some_and(|line| line.ends_with(" 1")),
        "{metrics}"
    );
}

#[tokio::test]
async fn the_log_has_no_object_no_patch_and_no_trouble_at_level_debug() {
    let running = Running::start("debug").await;
    running.inject().await;
    let log = running.end().await;
    assert!(log.contains("shutting down"), "this is the log: {log}");
    for word in ["canary", "Sample Injector v1", "BEGIN", " WARN ", " ERROR "] {
        assert!(!log.contains(word), "{word} is in the log: {log}");
    }
}
