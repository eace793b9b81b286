//! What is in objects is not in the log, whatever goes wrong with them.

#![cfg(test)]

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kubewright::testing::{Server, TestCluster, eventually};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// It is looked for as it is, and as base64 writes it.
const CANARY: [&str; 2] = ["canary-hunter2", "Y2FuYXJ5LWh1bnRlcjI"];
const TIMEOUT: Duration = Duration::from_mins(1);

fn secret(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": name, "labels": {"canary": CANARY[0]}, "annotations": {"canary": CANARY[0]}},
        "stringData": {"value": CANARY[0]},
    })
}

fn map(name: &str, key: &str, text: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {key: text},
    })
}

/// Starts the program, and reads what it says until it serves.
async fn started(cluster: &TestCluster, folder: &std::path::Path) -> (Child, String) {
    let kubeconfig = folder.join("kubeconfig");
    fs::write(&kubeconfig, cluster.kubeconfig()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_canary"))
        .args([
            "run",
            "--listen",
            "127.0.0.1:0",
            "--self-signed",
            "127.0.0.1",
            "--write-ca",
        ])
        .arg(folder.join("ca.crt"))
        .args(["--propagation", "0", "--log-level", "debug"])
        .env("KUBECONFIG", &kubeconfig)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.as_mut().unwrap());
    timeout(TIMEOUT, output.read_line(&mut line))
        .await
        .unwrap()
        .unwrap();
    let address = line
        .trim()
        .strip_prefix("serving webhooks on ")
        .unwrap()
        .to_owned();
    (child, address)
}

/// Tells the API server of the webhooks, as the program's `manifests` does.
async fn install(cluster: &TestCluster, folder: &std::path::Path, address: &str) {
    let manifests = Command::new(env!("CARGO_BIN_EXE_canary"))
        .args(["manifests", "--url", address, "--ca-file"])
        .arg(folder.join("ca.crt"))
        .output()
        .await
        .unwrap();
    let manifests = String::from_utf8(manifests.stdout).unwrap();
    for document in manifests.split("---\n") {
        let configuration: Value = kubewright::testing::yaml(document);
        cluster.apply(&configuration).await.expect_allowed();
    }
}

#[tokio::test]
async fn no_value_of_an_object_is_in_the_log_at_the_level_debug_whatever_goes_wrong() {
    let cluster = TestCluster::builder()
        .on(Server::Embedded)
        .listen()
        .start()
        .await;
    let folder = tempfile::tempdir().unwrap();
    let (mut child, address) = started(&cluster, folder.path()).await;
    let mut errors = child.stderr.take().unwrap();
    let log = tokio::spawn(async move {
        let mut log = String::new();
        errors.read_to_string(&mut log).await.unwrap();
        log
    });
    install(&cluster, folder.path(), &address).await;

    for name in ["allowed", "warned", "panics", "told", "copied", "refused"] {
        cluster.apply(&secret(name)).await.expect_allowed();
    }
    for name in ["denied", "failed", "panicked"] {
        cluster.apply(&secret(name)).await.expect_status();
    }
    let change = json!({"stringData": {"value": format!("{}-changed", CANARY[0])}});
    cluster
        .merge::<Secret>("allowed", &change)
        .await
        .expect_allowed();
    for text in [
        format!("a: {}", CANARY[0]),
        format!("{}: [", CANARY[0]),
        "a: 1".to_owned(),
    ] {
        cluster
            .apply(&map("words", "words.yaml", &text))
            .await
            .expect_allowed();
    }
    eventually("the copy", async || {
        cluster
            .get::<k8s_openapi::api::core::v1::ConfigMap>("copy")
            .await
    })
    .await;
    cluster.delete::<Secret>("allowed").await.expect_allowed();
    // The controller has seen whatever came before this one.
    let last = map("config-logging", "loglevel.canary", "info");
    cluster.apply(&last).await.expect_allowed();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let id = child.id().unwrap().to_string();
    Command::new("kill")
        .args(["-TERM", &id])
        .status()
        .await
        .unwrap();
    timeout(TIMEOUT, child.wait()).await.unwrap().unwrap();

    let log = log.await.unwrap();
    for (line, word) in log.lines().flat_map(|line| CANARY.map(|word| (line, word))) {
        assert!(!line.contains(word), "{line}");
    }
    // What has gone wrong is there all the same, by the crates that it went wrong in.
    for words in [
        "a webhook failed",
        "a webhook panicked",
        "the database is away",
        "the API server answers 422 Invalid",
        "the reconciler panicked",
        "the last good configuration holds",
        "the level of the log has changed",
        "leading",
    ] {
        assert!(log.contains(words), "no `{words}` in the log: {log}");
    }
}
