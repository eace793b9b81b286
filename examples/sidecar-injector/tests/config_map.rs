//! The program beside an API server that it reads its ConfigMap from, with the permissions that it prints and no others.

use std::fs;
use std::process::Stdio;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::testing::{Server, TestCluster, eventually, unique};
use kubewright::{Needs, Program};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::timeout;

use super::cluster::{alpine, containers};
use super::program::TIMEOUT;
use super::{Options, parsed};

const MAP: &str = "sidecar-injector";

fn options() -> Options {
    parsed(["--config-map".as_ref(), MAP.as_ref()])
}

/// A cluster that calls the program, and the same from a namespace that asks for sidecars.
async fn clusters() -> (TestCluster, TestCluster) {
    let app = |needs: &mut Needs| sidecar_injector::app(options(), needs);
    let cluster = TestCluster::builder().app(app).exact_permissions().start();
    let own = cluster.await;
    let labels = [("sidecar-injection", "enabled")];
    let injection = own.new_namespace(&unique("injection"), &labels).await;
    (own, injection)
}

async fn write(cluster: &TestCluster, name: &str, key: &str, text: &str) {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name}, "data": {key: text},
    });
    cluster.apply(&map).await.expect_allowed();
}

async fn configure(cluster: &TestCluster, text: &str) {
    write(cluster, MAP, "sidecarconfig.yaml", text).await;
}

/// The containers of a pod that is created now.
async fn created(cluster: &TestCluster) -> Vec<String> {
    let mut pod = alpine();
    pod.metadata.generate_name = pod.metadata.name.take();
    let pod = cluster.create(&pod).await.expect_allowed();
    containers(&pod).into_iter().map(str::to_owned).collect()
}

/// Waits until pods get a container, and makes sure that until then they get another.
async fn replaced(cluster: &TestCluster, old: &str, new: &str) {
    eventually("the new sidecar", async || {
        let created = created(cluster).await;
        let [_, sidecar] = &created[..] else {
            panic!("{created:?}");
        };
        assert!(sidecar == old || sidecar == new, "{created:?}");
        (sidecar == new).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_config_map_is_read_through_the_api_and_changes_take_effect_without_a_restart() {
    let (own, injection) = clusters().await;
    assert_eq!(
        created(&injection).await,
        ["alpine", "sidecar-nginx"],
        "the default"
    );
    configure(&own, "containers: [{name: one, image: one}]").await;
    replaced(&injection, "sidecar-nginx", "one").await;
    configure(
        &own,
        "containers: [{name: two, image: two, imagePullPolicy: Always}]",
    )
    .await;
    replaced(&injection, "one", "two").await;
}

#[tokio::test]
async fn a_broken_config_map_changes_nothing_and_neither_does_its_end() {
    let (own, injection) = clusters().await;
    configure(&own, "containers: [{name: good, image: good}]").await;
    replaced(&injection, "sidecar-nginx", "good").await;
    configure(&own, "containers: [").await;
    configure(&own, "containers: 7").await;
    own.delete::<ConfigMap>(MAP).await.expect_allowed();
    // The one that follows shows that the others have been seen, and left out.
    configure(&own, "containers: [{name: better, image: better}]").await;
    replaced(&injection, "good", "better").await;
}

#[test]
fn its_permissions_are_to_read_its_two_config_maps() {
    let roles = Program::new(|needs| sidecar_injector::app(options(), needs)).permissions();
    assert_eq!(
        roles.objects(),
        [json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "sidecar-injector"},
            "rules": [{
                "apiGroups": [""], "resources": ["configmaps"],
                "resourceNames": ["config-logging", "sidecar-injector"],
                "verbs": ["get", "list", "watch"],
            }],
        })]
    );
    let elsewhere = parsed(["--config-map".as_ref(), "blue/sidecars".as_ref()]);
    let roles = Program::new(|needs| sidecar_injector::app(elsewhere, needs)).permissions();
    let named = roles
        .objects()
        .iter()
        .find(|role| role["metadata"]["namespace"] == "blue");
    assert_eq!(
        named.unwrap()["rules"][0]["resourceNames"],
        json!(["sidecars"])
    );
}

/// Runs the program as a process, with a log in JSON.
async fn started(cluster: &TestCluster) -> (Child, Lines<BufReader<ChildStderr>>) {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    fs::write(&kubeconfig, cluster.kubeconfig()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_sidecar-injector"))
        .args([
            "run",
            "--listen",
            "127.0.0.1:0",
            "--self-signed",
            "127.0.0.1",
        ])
        .args([
            "--config-map",
            MAP,
            "--log-format",
            "json",
            "--propagation",
            "0",
        ])
        .env("KUBECONFIG", &kubeconfig)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.as_mut().unwrap());
    let said = output.read_line(&mut line);
    timeout(TIMEOUT, said).await.unwrap().unwrap();
    let log = BufReader::new(child.stderr.take().unwrap()).lines();
    (child, log)
}

/// Waits for a line of the log that holds these words, and returns its level.
async fn told(log: &mut Lines<BufReader<ChildStderr>>, words: &[&str]) -> String {
    let told = async {
        loop {
            let line = log.next_line().await.unwrap().expect("the log goes on");
            assert!(!line.contains("hunter2"), "{line}");
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            let text = line["fields"].to_string();
            if words.iter().all(|word| text.contains(word)) {
                return line["level"].as_str().unwrap().to_owned();
            }
        }
    };
    timeout(TIMEOUT, told)
        .await
        .unwrap_or_else(|_| panic!("{words:?}"))
}

#[tokio::test]
async fn the_level_of_the_log_follows_a_config_map_while_the_program_runs() {
    let cluster = TestCluster::builder()
        .on(Server::Embedded)
        .listen()
        .start()
        .await;
    let level = async |text| {
        write(
            &cluster,
            "config-logging",
            "loglevel.sidecar-injector",
            text,
        )
        .await;
    };
    let (_child, mut log) = started(&cluster).await;

    level("debug").await;
    told(&mut log, &["the level of the log has changed", "\"debug\""]).await;
    // What only that level tells.
    configure(&cluster, "containers: []").await;
    told(&mut log, &["the configuration was reloaded"]).await;
    level("loud").await;
    assert_eq!(
        told(&mut log, &["`loud` is no level", "last good"]).await,
        "WARN"
    );
    level("warn,kubewright_manager=info").await;
    told(&mut log, &["has changed", "warn,kubewright_manager=info"]).await;
    cluster
        .delete::<ConfigMap>("config-logging")
        .await
        .expect_allowed();
    told(&mut log, &["has changed", "\"info\""]).await;
}

#[tokio::test]
async fn the_log_tells_that_a_config_map_is_broken_and_not_what_is_in_it() {
    let cluster = TestCluster::builder()
        .on(Server::Embedded)
        .listen()
        .start()
        .await;
    configure(&cluster, "containers: []").await;
    let (_child, mut log) = started(&cluster).await;
    configure(&cluster, "containers: [{name: hunter2, ports: hunter2}]").await;
    let words = [
        "ConfigMap sidecar-injector, key sidecarconfig.yaml",
        "last good",
    ];
    assert_eq!(told(&mut log, &words).await, "WARN");
}

#[tokio::test]
async fn a_program_does_not_start_with_a_config_map_that_is_broken_already() {
    let cluster = TestCluster::start().await;
    configure(&cluster, "containers: 7").await;
    let program = Program::new(|needs| sidecar_injector::app(options(), needs));
    let certificates = kubewright::certificates::SelfSigned::for_names(["127.0.0.1"]);
    let refused = program
        .client(cluster.client())
        .bind(([127, 0, 0, 1], 0), certificates)
        .await
        .unwrap_err();
    let cause = std::error::Error::source(&refused).unwrap();
    assert!(
        cause.to_string().contains("ConfigMap sidecar-injector"),
        "{cause}"
    );
}
