//! The running program: configuration and certificates that change under it, and its log.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use kubewright::Program;
use kubewright::certificates::{Authority, SelfSigned, TrustBundle};
use serde_json::Value;
use sidecar_injector::app;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::client::{connect, get, inject};
use super::{alpine, names, options, review, stored};

/// A directory as the kubelet mounts a ConfigMap.
struct Mount(TempDir);

impl Mount {
    fn new(text: &str) -> Self {
        let mount = Self(tempfile::tempdir().unwrap());
        mount.swap("..1", text);
        symlink("..data/sidecarconfig.yaml", mount.file()).unwrap();
        mount
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("sidecarconfig.yaml")
    }

    fn swap(&self, revision: &str, text: &str) {
        let at = |name: &str| self.0.path().join(name);
        fs::create_dir(at(revision)).unwrap();
        fs::write(at(revision).join("sidecarconfig.yaml"), text).unwrap();
        symlink(revision, at("..data_tmp")).unwrap();
        fs::rename(at("..data_tmp"), at("..data")).unwrap();
    }
}

const PROXY: &str = "
containers:
- name: proxy
  image: envoy:1.30
  imagePullPolicy: Always
  resources: {limits: {cpu: 1}}
  readinessProbe: {httpGet: {path: /ready, port: 15021}, initialDelaySeconds: 1}
  securityContext: {allowPrivilegeEscalation: false, runAsUser: 1337}
  volumeMounts: [{name: proxy-config, mountPath: /etc/proxy, readOnly: true}]
volumes:
- name: proxy-config
  configMap: {name: proxy, defaultMode: 0444}
";

/// Runs the program in this process, for as long as the test does.
async fn running(config: PathBuf) -> (SocketAddr, TrustBundle) {
    let program = Program::new(|needs| app(options(&config), needs));
    let certificates = SelfSigned::for_names(["127.0.0.1"]);
    let serving = program
        .bind(([127, 0, 0, 1], 0), certificates)
        .await
        .unwrap();
    let reached = (serving.local_addr(), serving.trust());
    tokio::spawn(serving.run(std::future::pending()));
    reached
}

async fn injected((address, trust): &(SocketAddr, TrustBundle)) -> Value {
    let answer = inject(*address, trust, &review("injection", &alpine()))
        .await
        .unwrap();
    stored(alpine(), &answer).0
}

#[tokio::test]
async fn camel_case_fields_of_the_configuration_arrive() {
    let mount = Mount::new(PROXY);
    let pod = injected(&running(mount.file()).await).await;
    assert_eq!(
        pod["spec"]["containers"][1],
        serde_json::json!({
            "name": "proxy", "image": "envoy:1.30", "imagePullPolicy": "Always",
            "resources": {"limits": {"cpu": "1"}},
            "readinessProbe": {
                "httpGet": {"path": "/ready", "port": 15021}, "initialDelaySeconds": 1,
            },
            "securityContext": {"allowPrivilegeEscalation": false, "runAsUser": 1337},
            "volumeMounts": [
                {"name": "proxy-config", "mountPath": "/etc/proxy", "readOnly": true},
            ],
        })
    );
    assert_eq!(
        pod["spec"]["volumes"][0],
        serde_json::json!({
            "name": "proxy-config", "configMap": {"name": "proxy", "defaultMode": 0o444},
        })
    );
}

#[tokio::test]
async fn a_change_of_the_config_map_takes_effect_without_a_restart() {
    let mount = Mount::new(PROXY);
    let program = running(mount.file()).await;
    assert_eq!(
        names(&injected(&program).await, "containers"),
        ["alpine", "proxy"]
    );
    mount.swap("..2", &PROXY.replace("name: proxy\n", "name: newer\n"));
    let changed =
        async { while names(&injected(&program).await, "containers") != ["alpine", "newer"] {} };
    timeout(TIMEOUT, changed)
        .await
        .expect("the new configuration is used");
}

#[tokio::test]
async fn a_bad_config_map_changes_nothing() {
    let mount = Mount::new(PROXY);
    let program = running(mount.file()).await;
    mount.swap("..2", "containers: 7\n");
    // The good one that follows shows that the bad one has been seen, and left out.
    mount.swap("..3", &PROXY.replace("name: proxy\n", "name: newer\n"));
    let changed = async {
        loop {
            match names(&injected(&program).await, "containers")[..] {
                ["alpine", "newer"] => break,
                ["alpine", "proxy"] => {}
                ref other => panic!("{other:?}"),
            }
        }
    };
    timeout(TIMEOUT, changed)
        .await
        .expect("the good configuration is used");
}

#[tokio::test]
async fn without_a_file_the_default_holds() {
    let directory = tempfile::tempdir().unwrap();
    let pod = injected(&running(directory.path().join("sidecarconfig.yaml")).await).await;
    assert_eq!(names(&pod, "containers"), ["alpine", "sidecar-nginx"]);
}

/// Writes a new certificate of a new authority, as a renewed Secret would be mounted.
fn renew(directory: &Path) -> TrustBundle {
    let authority = Authority::new("test").unwrap();
    let server = authority
        .sign_server(["127.0.0.1"], Duration::from_hours(1))
        .unwrap();
    for (file, text) in [
        ("tls.key", server.key_pem()),
        ("tls.crt", server.certificate_pem()),
        ("ca.crt", authority.certificate_pem()),
    ] {
        fs::write(directory.join(file), text).unwrap();
    }
    authority.trust()
}

/// Starts the program as a process, with the certificate in `directory`.
async fn started(directory: &Path) -> (Child, SocketAddr) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sidecar-injector"))
        .args([
            "run",
            "--listen",
            "127.0.0.1:0",
            "--propagation",
            "0",
            "--log-level",
            "debug",
        ])
        .args([
            "--config".as_ref(),
            directory.join("sidecarconfig.yaml").as_os_str(),
        ])
        .args(["--certificates".as_ref(), directory.as_os_str()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .await
        .unwrap();
    let address = line
        .trim()
        .strip_prefix("serving webhooks on https://")
        .unwrap();
    let address = address.parse().unwrap();
    (child, address)
}

#[tokio::test]
async fn a_running_program_is_healthy_and_ready() {
    let directory = tempfile::tempdir().unwrap();
    let trust = renew(directory.path());
    let (_child, address) = started(directory.path()).await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(get(address, &trust, path).await.unwrap(), "ok", "{path}");
    }
}

#[tokio::test]
async fn a_renewed_certificate_is_served_without_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let first = renew(directory.path());
    let (_child, address) = started(directory.path()).await;
    connect(address, &first).await.unwrap();

    let second = renew(directory.path());
    let renewed = async { while connect(address, &second).await.is_err() {} };
    timeout(TIMEOUT, renewed)
        .await
        .expect("the new certificate is served");
    assert!(
        connect(address, &first).await.is_err(),
        "the old one is not"
    );
}

#[tokio::test]
async fn the_log_shows_no_object_and_no_user() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("sidecarconfig.yaml"), PROXY).unwrap();
    let trust = renew(directory.path());
    let (mut child, address) = started(directory.path()).await;

    let mut pod = alpine();
    pod["spec"]["containers"][0]["image"] = "image-in-the-object".into();
    let answer = inject(address, &trust, &review("injection", &pod))
        .await
        .unwrap();
    assert_eq!(
        names(&stored(pod, &answer).0, "containers"),
        ["alpine", "proxy"]
    );

    let id = child.id().unwrap().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .await
            .unwrap()
            .success()
    );
    let mut log = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut log)
        .await
        .unwrap();
    assert!(log.contains("shutting down"), "this is the log: {log}");
    for word in ["image-in-the-object", "user-in-the-review", "envoy:1.30"] {
        assert!(!log.contains(word), "{word} is in the log: {log}");
    }
}

#[tokio::test]
async fn the_log_tells_what_is_wrong_with_the_configuration_and_not_what_is_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("sidecarconfig.yaml");
    let misspelt = "containers: [{name: a, imagepullpolicy: hunter2}]\n";
    fs::write(&config, misspelt).unwrap();
    renew(directory.path());
    let (mut child, _) = started(directory.path()).await;
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();

    let mut warning = async |words: &str| loop {
        let line = log.next_line().await.unwrap().expect("the log goes on");
        assert!(!line.contains("hunter2"), "{line}");
        if line.contains("WARN") {
            assert!(line.contains(words), "{line}");
            break;
        }
    };
    timeout(TIMEOUT, warning("containers.0.imagepullpolicy"))
        .await
        .unwrap();
    fs::write(&config, "volumes: [{name: hunter2}]\ncontainers: [").unwrap();
    timeout(TIMEOUT, warning("the last good configuration holds"))
        .await
        .unwrap();
}

/// How long a change may take to be seen before a test gives up.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
