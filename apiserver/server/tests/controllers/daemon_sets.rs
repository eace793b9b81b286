//! DaemonSets.

use std::time::Duration;

use kubewright_apiserver::{Controllers, Workloads};
use serde_json::{Value, json};

use super::{PODS, settled, template, with};
use crate::cluster::Cluster;

const SETS: &str = "/apis/apps/v1/namespaces/default/daemonsets";
const REVISIONS: &str = "/apis/apps/v1/namespaces/default/controllerrevisions";

fn set() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": template("agent"),
        },
    })
}

fn on_three_nodes() -> Cluster {
    with(Controllers::all().workloads(Workloads::default().nodes(3)))
}

/// The node and the image of each pod, by node.
async fn pods(cluster: &Cluster) -> Vec<(String, String)> {
    let list = cluster.read(PODS).await;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut pods: Vec<_> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pod| {
            let node = text(&pod["spec"]["nodeName"]);
            (node, text(&pod["spec"]["containers"][0]["image"]))
        })
        .collect();
    pods.sort();
    pods
}

#[tokio::test(start_paused = true)]
async fn every_node_has_a_pod() {
    let cluster = on_three_nodes();
    cluster.made(SETS, &set()).await;
    let nodes: Vec<String> = pods(&cluster).await.into_iter().map(|pod| pod.0).collect();
    assert_eq!(nodes, ["simulated-0", "simulated-1", "simulated-2"]);
    let agent = cluster.read(&format!("{SETS}/agent")).await;
    for name in [
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "updatedNumberScheduled",
        "numberReady",
        "numberAvailable",
    ] {
        assert_eq!(agent["status"][name], 3, "{name}");
    }
    assert_eq!(agent["status"]["numberMisscheduled"], 0);
    let revision = cluster.read(PODS).await["metadata"]["resourceVersion"].clone();
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(
        cluster.read(PODS).await["metadata"]["resourceVersion"],
        revision
    );
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_selected_no_more_loses_its_pod() {
    let cluster = on_three_nodes();
    settled().await;
    let node = "/api/v1/nodes/simulated-1";
    let label = |value: Value| json!({"metadata": {"labels": {"disk": value}}});
    cluster
        .patch("merge", node, &label("ssd".into()))
        .await
        .expect(200);
    let mut picky = set();
    picky["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "ssd"});
    cluster.made(SETS, &picky).await;
    let on: Vec<String> = pods(&cluster).await.into_iter().map(|pod| pod.0).collect();
    assert_eq!(on, ["simulated-1"]);
    cluster
        .patch("merge", node, &label(Value::Null))
        .await
        .expect(200);
    settled().await;
    assert!(pods(&cluster).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_update_goes_from_node_to_node() {
    let slow = Workloads::default()
        .nodes(3)
        .ready_after(Duration::from_secs(10));
    let cluster = with(Controllers::all().workloads(slow));
    cluster.made(SETS, &set()).await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    let path = format!("{SETS}/agent");
    let image = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "nginx:2"}]);
    cluster.patch("json", &path, &image).await.expect(200);
    settled().await;
    let new = |pods: Vec<(String, String)>| pods.iter().filter(|pod| pod.1 == "nginx:2").count();
    assert_eq!(new(pods(&cluster).await), 1);
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(new(pods(&cluster).await), 2);
    tokio::time::sleep(Duration::from_secs(22)).await;
    assert_eq!(new(pods(&cluster).await), 3);
    assert_eq!(cluster.names(REVISIONS).await.len(), 2);
    let agent = cluster.read(&path).await;
    assert_eq!(agent["status"]["updatedNumberScheduled"], 3);
}

#[tokio::test(start_paused = true)]
async fn an_update_that_surges_ends_an_old_pod_when_the_new_one_is_ready() {
    let slow = Workloads::default().ready_after(Duration::from_secs(10));
    let cluster = with(Controllers::all().workloads(slow));
    let mut agent = set();
    agent["spec"]["updateStrategy"] = json!({
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
    });
    cluster.made(SETS, &agent).await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    let image = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "nginx:2"}]);
    cluster
        .patch("json", &format!("{SETS}/agent"), &image)
        .await
        .expect(200);
    settled().await;
    let images = |pods: Vec<(String, String)>| -> Vec<String> {
        pods.into_iter().map(|pod| pod.1).collect()
    };
    assert_eq!(images(pods(&cluster).await), ["nginx:1", "nginx:2"]);
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(images(pods(&cluster).await), ["nginx:2"]);
}
