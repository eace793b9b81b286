//! Pods on simulated nodes.

use std::time::Duration;

use kubewright_apiserver::{Controllers, Workloads};
use serde_json::{Value, json};

use super::{PODS, all, condition, settled, with};

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "nginx"}]},
    })
}

fn simulated(workloads: Workloads) -> Controllers {
    Controllers::none().workloads(workloads)
}

#[tokio::test(start_paused = true)]
async fn a_pod_starts_and_becomes_ready_after_its_time() {
    let slow = Workloads::default().ready_after(Duration::from_secs(10));
    let cluster = with(simulated(slow));
    let path = format!("{PODS}/web");
    cluster.made(PODS, &pod("web")).await;
    let web = cluster.read(&path).await;
    assert_eq!(web["status"]["phase"], "Pending");
    let waiting = &web["status"]["containerStatuses"][0]["state"]["waiting"];
    assert_eq!(waiting["reason"], "ContainerCreating");
    assert_eq!(condition(&web, "PodScheduled")["status"], "True");
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(cluster.read(&path).await["status"]["phase"], "Pending");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let web = cluster.read(&path).await;
    assert_eq!(web["status"]["phase"], "Running");
    assert_eq!(condition(&web, "Ready")["status"], "True");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pod_ends_after_its_time_or_when_its_grace_period_is_over() {
    let slow = Workloads::default().stopped_after(Duration::from_secs(10));
    let cluster = with(simulated(slow));
    for (name, grace, lives) in [("long", 30, 10), ("short", 3, 3)] {
        cluster.made(PODS, &pod(name)).await;
        let path = format!("{PODS}/{name}");
        let options = json!({"gracePeriodSeconds": grace});
        cluster.delete_with(&path, &options).await.expect(200);
        tokio::time::sleep(Duration::from_millis(lives * 1000 - 100)).await;
        cluster.get(&path).await.expect(200);
        tokio::time::sleep(Duration::from_millis(200)).await;
        cluster.get(&path).await.expect(404);
    }
}

#[tokio::test(start_paused = true)]
async fn pods_are_spread_over_the_nodes() {
    let cluster = with(simulated(Workloads::default().nodes(3)));
    assert_eq!(cluster.names("/api/v1/nodes").await.len(), 0);
    settled().await;
    let nodes = cluster.names("/api/v1/nodes").await;
    assert_eq!(nodes, ["simulated-0", "simulated-1", "simulated-2"]);
    for name in ["a", "b", "c"] {
        cluster.made(PODS, &pod(name)).await;
    }
    let pods = cluster.read(PODS).await;
    let mut on: Vec<&str> = (0..3)
        .map(|at| pods["items"][at]["spec"]["nodeName"].as_str().unwrap())
        .collect();
    on.sort_unstable();
    assert_eq!(on, nodes);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_no_node_takes_says_so_and_is_taken_when_one_does() {
    let cluster = all();
    let mut picky = pod("picky");
    picky["spec"]["nodeSelector"] = json!({"disk": "ssd"});
    cluster.made(PODS, &picky).await;
    let path = format!("{PODS}/picky");
    let waiting = cluster.read(&path).await;
    assert_eq!(waiting["status"]["phase"], "Pending");
    let scheduled = condition(&waiting, "PodScheduled");
    assert_eq!(scheduled["status"], "False");
    assert_eq!(scheduled["reason"], "Unschedulable");
    let labels = json!({"metadata": {"labels": {"disk": "ssd"}}});
    let node = "/api/v1/nodes/simulated-0";
    cluster.patch("merge", node, &labels).await.expect(200);
    settled().await;
    assert_eq!(cluster.read(&path).await["status"]["phase"], "Running");
}

#[tokio::test(start_paused = true)]
async fn a_pod_fails_or_stays_unready_when_it_is_told_to() {
    let cluster = all();
    for (what, reason) in [("failure", "CrashLoopBackOff"), ("unready", "")] {
        let mut bad = pod(what);
        bad["metadata"]["annotations"] = json!({"kubewright.dev/simulate": what});
        cluster.made(PODS, &bad).await;
        let bad = cluster.read(&format!("{PODS}/{what}")).await;
        assert_eq!(bad["status"]["phase"], "Running");
        assert_eq!(condition(&bad, "Ready")["status"], "False");
        let state = &bad["status"]["containerStatuses"][0]["state"];
        assert_eq!(
            state["waiting"]["reason"].as_str().unwrap_or_default(),
            reason
        );
    }
}
