//! Containers whose image was given a program.

use std::time::Duration;

use kubewright_apiserver::{Container, Controllers, Program, Workloads};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{PODS, condition, with};
use crate::cluster::Cluster;

const IMAGE: &str = "registry.example.com/web:1";

fn running(program: Program) -> Cluster {
    let workloads = Workloads::default().container("registry.example.com/web:*", program);
    with(Controllers::all().workloads(workloads))
}

fn pod(name: &str, container: &Value) -> Value {
    let mut main = json!({"name": "main", "image": IMAGE});
    for (field, value) in container.as_object().expect("fields") {
        main[field] = value.clone();
    }
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"containers": [main], "restartPolicy": "Never"},
    })
}

async fn until(cluster: &Cluster, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
    loop {
        let object = cluster.read(path).await;
        if holds(&object) {
            return object;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn ended(cluster: &Cluster, name: &str) -> Value {
    let path = format!("{PODS}/{name}");
    let finished = |pod: &Value| {
        ["Succeeded", "Failed"].contains(&pod["status"]["phase"].as_str().unwrap_or_default())
    };
    until(cluster, &path, finished).await
}

async fn log(cluster: &Cluster, name: &str, query: &str) -> String {
    let answer = cluster.get(&format!("{PODS}/{name}/log{query}")).await;
    assert_eq!(answer.code, 200, "{answer:?}");
    String::from_utf8(answer.text.to_vec()).expect("text")
}

/// Answers every connection to port 8080 with `200 OK`.
async fn serve(container: Container) -> i32 {
    let listener = TcpListener::bind((container.address(), 8080))
        .await
        .expect("an address");
    container.log("ready");
    loop {
        tokio::select! {
            () = container.stopped() => return 0,
            accepted = listener.accept() => {
                let (mut stream, _) = accepted.expect("a connection");
                let mut request = [0; 1024];
                let _ = stream.read(&mut request).await;
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                let _ = stream.write_all(answer).await;
            }
        }
    }
}

#[tokio::test]
async fn a_program_gets_arguments_environment_and_files_and_its_exit_code_is_the_status() {
    let cluster = running(Program::process("/bin/sh"));
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "stringData": {"key": "from the secret"},
    });
    cluster
        .made("/api/v1/namespaces/default/secrets", &secret)
        .await;
    let script = "echo $GREETING $1 $POD; cat /etc/s/key; echo; echo bad >&2; exit 3";
    let mut spec = pod(
        "a",
        &json!({
            "args": ["-c", script, "sh", "$(GREETING)"],
            "env": [
                {"name": "GREETING", "value": "hello"},
                {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            ],
            "volumeMounts": [{"name": "s", "mountPath": "/etc/s"}],
        }),
    );
    spec["spec"]["volumes"] = json!([{"name": "s", "secret": {"secretName": "s"}}]);
    cluster.made(PODS, &spec).await;
    let pod = ended(&cluster, "a").await;
    assert_eq!(pod["status"]["phase"], "Failed");
    let status = &pod["status"]["containerStatuses"][0];
    let terminated = &status["state"]["terminated"];
    assert_eq!(terminated["exitCode"], 3);
    assert_eq!(terminated["reason"], "Error");
    let output = log(&cluster, "a", "").await;
    assert!(
        output.starts_with("hello hello a\nfrom the secret\n"),
        "{output}"
    );
    assert!(output.contains("bad\n"), "{output}");
    assert_eq!(log(&cluster, "a", "?limitBytes=5").await, "hello");
}

#[tokio::test]
async fn a_line_that_does_not_end_is_all_in_the_log() {
    let cluster = running(Program::process("/bin/sh"));
    let script = "head -c 100000 /dev/zero | tr '\\0' x; echo; echo end";
    cluster
        .made(PODS, &pod("a", &json!({"args": ["-c", script]})))
        .await;
    ended(&cluster, "a").await;
    let output = log(&cluster, "a", "?timestamps=true").await;
    let lines: Vec<&str> = output
        .lines()
        .filter_map(|line| Some(line.split_once(' ')?.1))
        .collect();
    assert_eq!(lines, ["x".repeat(100_000).as_str(), "end"]);
}

#[tokio::test]
async fn what_a_program_started_ends_with_its_container() {
    let cluster = running(Program::process("/bin/sh"));
    let directory = tempfile::tempdir().expect("a directory");
    let beats = directory.path().join("beats");
    let script = "(while :; do echo; sleep 0.01; done) >$1 2>&1 & until [ -s $1 ]; do :; done";
    let args = json!({"args": ["-c", script, "sh", beats]});
    cluster.made(PODS, &pod("a", &args)).await;
    ended(&cluster, "a").await;
    let size = || std::fs::metadata(&beats).expect("beats").len();
    loop {
        let before = size();
        tokio::time::sleep(Duration::from_millis(200)).await;
        if size() == before {
            break;
        }
    }
}

#[tokio::test]
async fn a_command_that_is_not_the_program_is_not_run() {
    let cluster = running(Program::process("/bin/sh"));
    let spec = pod("a", &json!({"command": ["/bin/cat", "/etc/hostname"]}));
    cluster.made(PODS, &spec).await;
    let pod = ended(&cluster, "a").await;
    let terminated = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(terminated["reason"], "StartError");
    assert_eq!(terminated["exitCode"], 128);
    assert_eq!(log(&cluster, "a", "").await, "");
}

#[tokio::test]
async fn a_pod_is_ready_when_its_probe_is_answered_and_ends_when_it_is_deleted() {
    let cluster = running(Program::function(serve));
    let probe = json!({"readinessProbe": {"httpGet": {"port": 8080}, "periodSeconds": 1}});
    cluster.made(PODS, &pod("a", &probe)).await;
    let path = format!("{PODS}/a");
    let ready = |pod: &Value| condition(pod, "Ready")["status"] == "True";
    let pod = until(&cluster, &path, ready).await;
    assert_eq!(pod["status"]["containerStatuses"][0]["started"], true);
    assert_eq!(log(&cluster, "a", "?tailLines=1").await, "ready\n");
    let address = pod["status"]["podIP"].as_str().expect("an address");
    assert!(address.starts_with("10.244."), "{address}");
    cluster.delete(&path).await.expect(200);
    while cluster.get(&path).await.code != 404 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_container_that_fails_is_started_again() {
    let cluster = running(Program::function(async |container: Container| {
        container.log("again");
        1
    }));
    let mut spec = pod("a", &json!({}));
    spec["spec"]["restartPolicy"] = "Always".into();
    cluster.made(PODS, &spec).await;
    let backing_off = |pod: &Value| {
        let state = &pod["status"]["containerStatuses"][0]["state"];
        state["waiting"]["reason"] == "CrashLoopBackOff"
    };
    let pod = until(&cluster, &format!("{PODS}/a"), backing_off).await;
    let status = &pod["status"]["containerStatuses"][0];
    assert_eq!(status["restartCount"], 1);
    assert_eq!(status["lastState"]["terminated"]["exitCode"], 1);
    assert_eq!(pod["status"]["phase"], "Running");
    assert_eq!(condition(&pod, "ContainersReady")["status"], "False");
    assert_eq!(log(&cluster, "a", "?previous=true").await, "again\n");
}

#[tokio::test]
async fn a_pod_waits_for_what_its_environment_and_volumes_refer_to() {
    let cluster = running(Program::process("/bin/sh"));
    let spec = pod(
        "a",
        &json!({
            "args": ["-c", "echo $KEY"],
            "env": [{"name": "KEY", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}],
        }),
    );
    cluster.made(PODS, &spec).await;
    let waiting = |pod: &Value| {
        let state = &pod["status"]["containerStatuses"][0]["state"];
        state["waiting"]["reason"] == "CreateContainerConfigError"
    };
    let pod = until(&cluster, &format!("{PODS}/a"), waiting).await;
    let waiting = &pod["status"]["containerStatuses"][0]["state"]["waiting"];
    assert_eq!(waiting["message"], "configmap \"m\" not found");
    let map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "m"},
        "data": {"k": "v"},
    });
    cluster
        .post("/api/v1/namespaces/default/configmaps", &map)
        .await
        .expect(201);
    let pod = ended(&cluster, "a").await;
    assert_eq!(pod["status"]["phase"], "Succeeded");
    assert_eq!(log(&cluster, "a", "").await, "v\n");
}

#[tokio::test]
async fn the_proxies_of_pods_and_services_reach_the_program() {
    let cluster = running(Program::function(serve));
    let ports = json!({"ports": [{"containerPort": 8080}]});
    cluster.made(PODS, &pod("a", &ports)).await;
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    });
    let services = "/api/v1/namespaces/default/services";
    cluster.made(services, &service).await;
    for path in [
        format!("{PODS}/a/proxy/x?y"),
        format!("{PODS}/http:a:8080/proxy/"),
        format!("{services}/web:80/proxy/"),
        format!("{services}/web/proxy/x"),
    ] {
        while cluster.get(&path).await.code == 503 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let answer = cluster.get(&path).await;
        assert_eq!(answer.code, 200, "{path}: {answer:?}");
    }
    let bare = cluster.get(&format!("{PODS}/a/proxy?y")).await;
    assert_eq!(bare.code, 301);
    assert_eq!(bare.headers["location"], format!("{PODS}/a/proxy/?y"));
    let refused = cluster.get(&format!("{PODS}/a:9/proxy/")).await;
    assert_eq!(refused.code, 503);
    let message = refused.json()["message"].clone();
    let message = message.as_str().expect("a message");
    assert!(
        message.starts_with("error trying to reach service: dial tcp 10.244.")
            && message.ends_with(":9: connect: connection refused"),
        "{message}"
    );
}
