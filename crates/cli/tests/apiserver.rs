//! `kubewright apiserver`.

use std::process::Stdio;

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use kubewright_testing::eventually;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::command::{kubewright, run};

#[tokio::test]
async fn it_says_when_it_is_ready_and_a_client_gets_in_with_its_kubeconfig() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = kubewright(folder.path(), &["apiserver", "--kubeconfig", "access"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let ready = lines.next_line().await.unwrap().unwrap();
    assert!(ready.starts_with("ready: https://127.0.0.1:"), "{ready}");

    let kubeconfig = Kubeconfig::read_from(folder.path().join("access")).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap();
    let client = Client::try_from(config).unwrap();
    let version = client.apiserver_version().await.unwrap();
    assert_eq!(
        (version.major.as_str(), version.minor.as_str()),
        ("1", "37")
    );
}

#[tokio::test]
async fn it_appends_an_audit_log_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.log");
    std::fs::write(&log, "an earlier line\n").unwrap();
    let arguments = [
        "apiserver",
        "--kubeconfig",
        "access",
        "--audit-log",
        "audit.log",
        "--audit-level",
        "request-response",
    ];
    let mut server = kubewright(folder.path(), &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    lines.next_line().await.unwrap();
    let kubeconfig = Kubeconfig::read_from(folder.path().join("access")).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap();
    let client = Client::try_from(config).unwrap();
    client.list_core_api_versions().await.unwrap();

    let log = std::fs::read_to_string(log).unwrap();
    let (earlier, event) = log.trim_end().split_once('\n').unwrap();
    assert_eq!(earlier, "an earlier line");
    let event: serde_json::Value = serde_json::from_str(event).unwrap();
    assert_eq!(event["apiVersion"], "audit.k8s.io/v1");
    assert_eq!(event["level"], "RequestResponse");
    assert_eq!(event["requestURI"], "/api");
    assert_eq!(event["user"]["username"], "kubernetes-admin");
    assert_eq!(event["sourceIPs"], serde_json::json!(["127.0.0.1"]));
    assert_eq!(event["responseObject"]["kind"], "APIVersions");
}

#[tokio::test]
async fn it_enforces_rbac_on_demand_and_its_controllers_still_work() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "apiserver",
        "--kubeconfig",
        "access",
        "--controllers=all",
        "--authorization-mode=Node,RBAC",
    ];
    let mut server = kubewright(folder.path(), &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    lines.next_line().await.unwrap();
    let kubeconfig = Kubeconfig::read_from(folder.path().join("access")).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap();
    let admin = Client::try_from(config.clone()).unwrap();
    let deployments = ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", "Deployment"));
    let deployments: Api<DynamicObject> = Api::default_namespaced_with(admin, &deployments);
    let web = serde_json::json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx"}]},
            },
        },
    });
    let web = serde_json::from_value(web).unwrap();
    deployments
        .create(&PostParams::default(), &web)
        .await
        .unwrap();
    eventually("the deployment is available", async || {
        let web = deployments.get("web").await.ok()?;
        (web.data["status"]["availableReplicas"] == 1).then_some(())
    })
    .await;

    config.auth_info.impersonate = Some("jane".to_owned());
    let client = Client::try_from(config).unwrap();
    let nodes = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Node"));
    let nodes: Api<DynamicObject> = Api::all_with(client, &nodes);
    let refused = nodes.list(&ListParams::default()).await.unwrap_err();
    assert!(
        refused.to_string().contains("cannot list resource"),
        "{refused}"
    );
}

#[tokio::test]
async fn an_audit_log_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &["apiserver", "--audit-log", "no/such/log"]).await;
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("cannot write no/such/log"), "{}", ran.err);
}

#[cfg(unix)]
#[tokio::test]
async fn it_ends_on_a_signal_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = kubewright(folder.path(), &["apiserver"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    lines.next_line().await.unwrap();
    let kubeconfig = folder.path().join(".kubewright/kubeconfig");
    assert!(kubeconfig.exists());

    let id = server.id().unwrap().to_string();
    tokio::process::Command::new("kill")
        .args(["-TERM", &id])
        .status()
        .await
        .unwrap();
    assert!(server.wait().await.unwrap().success());
    assert!(!kubeconfig.exists());
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran = run(folder.path(), &["apiserver", "--port", &port]).await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains(&format!("127.0.0.1:{port}")),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("hint: pass --port 0 to take a free port"),
        "{}",
        ran.err
    );
}
