//! The scheduler: where pods go, and which ones leave for others.

use std::time::Duration;

use kubewright_apiserver::{Controllers, Workloads};
use serde_json::{Value, json};

use super::{PODS, all, condition, settled, with};
use crate::cluster::Cluster;

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "nginx"}]},
    })
}

fn asking(name: &str, cpu: &str) -> Value {
    let mut pod = pod(name);
    pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": cpu}});
    pod
}

/// A cluster whose nodes have two CPUs and room for ten pods, and zones of two nodes.
async fn cluster(nodes: usize) -> Cluster {
    let cluster = with(Controllers::all().workloads(Workloads::default().nodes(nodes)));
    settled().await;
    for at in 0..nodes {
        let path = format!("/api/v1/nodes/simulated-{at}");
        let zone = json!({"metadata": {"labels": {"zone": format!("z{}", at / 2)}}});
        cluster.patch("merge", &path, &zone).await.expect(200);
        let room = json!({"status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10"}}});
        let path = format!("{path}/status");
        cluster.patch("merge", &path, &room).await.expect(200);
    }
    settled().await;
    cluster
}

async fn node_of(cluster: &Cluster, name: &str) -> String {
    let pod = cluster.read(&format!("{PODS}/{name}")).await;
    let node = pod["spec"]["nodeName"].as_str();
    node.unwrap_or_default().to_owned()
}

async fn message(cluster: &Cluster, name: &str) -> String {
    let pod = cluster.read(&format!("{PODS}/{name}")).await;
    let scheduled = condition(&pod, "PodScheduled");
    assert_eq!(scheduled["reason"], "Unschedulable");
    scheduled["message"].as_str().unwrap().to_owned()
}

const NO_VICTIMS: &str = "No preemption victims found for incoming pod.";
const NO_HELP: &str = "Preemption is not helpful for scheduling.";

#[tokio::test(start_paused = true)]
async fn a_pod_waits_until_a_node_has_what_it_asks_for() {
    let cluster = cluster(1).await;
    cluster.made(PODS, &asking("a", "1500m")).await;
    cluster.made(PODS, &asking("b", "600m")).await;
    assert_eq!(node_of(&cluster, "a").await, "simulated-0");
    assert_eq!(
        message(&cluster, "b").await,
        format!(
            "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 {NO_VICTIMS}"
        )
    );
    let events = cluster
        .read("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=b")
        .await;
    let event = &events["items"][0];
    assert_eq!(event["reason"], "FailedScheduling");
    assert_eq!(event["source"]["component"], "default-scheduler");
    cluster.delete(&format!("{PODS}/a")).await.expect(200);
    settled().await;
    assert_eq!(node_of(&cluster, "b").await, "simulated-0");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_asks_for_more_than_any_node_has_is_helped_by_no_preemption() {
    let cluster = cluster(2).await;
    let mut pod = asking("a", "3");
    pod["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = "1".into();
    pod["spec"]["containers"][0]["resources"]["limits"] = json!({"example.com/gpu": "1"});
    cluster.made(PODS, &pod).await;
    assert_eq!(
        message(&cluster, "a").await,
        format!(
            "0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient example.com/gpu. \
             preemption: 0/2 nodes are available: 2 {NO_HELP}"
        )
    );
}

#[tokio::test(start_paused = true)]
async fn pods_of_one_host_port_are_on_different_nodes() {
    let cluster = cluster(2).await;
    for name in ["a", "b", "c"] {
        let mut pod = pod(name);
        pod["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80, "hostPort": 8080}]);
        cluster.made(PODS, &pod).await;
    }
    assert_ne!(node_of(&cluster, "a").await, node_of(&cluster, "b").await);
    assert_eq!(
        message(&cluster, "c").await,
        format!(
            "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports. \
             preemption: 0/2 nodes are available: 2 {NO_VICTIMS}"
        )
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_put_on_a_node_without_room_is_rejected_by_its_kubelet() {
    let cluster = cluster(1).await;
    for name in ["a", "b"] {
        let mut pod = pod(name);
        pod["spec"]["nodeName"] = "simulated-0".into();
        pod["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80, "hostPort": 8080}]);
        cluster.made(PODS, &pod).await;
    }
    let mut large = asking("large", "5");
    large["spec"]["nodeName"] = "simulated-0".into();
    cluster.made(PODS, &large).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let first = cluster.read(&format!("{PODS}/a")).await;
    assert_eq!(first["status"]["phase"], "Running");
    let second = cluster.read(&format!("{PODS}/b")).await;
    assert_eq!(second["status"]["phase"], "Failed");
    assert_eq!(second["status"]["reason"], "NodePorts");
    let large = cluster.read(&format!("{PODS}/large")).await;
    assert_eq!(large["status"]["reason"], "OutOfcpu");
    assert_eq!(
        large["status"]["message"],
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 2000"
    );
}

#[tokio::test(start_paused = true)]
async fn affinity_keeps_pods_together_and_anti_affinity_apart() {
    let cluster = cluster(4).await;
    let term = |app: &str, key: &str| {
        json!({"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key},
        ]})
    };
    cluster.made(PODS, &pod("base")).await;
    let zone = |node: &str| node.ends_with('2') || node.ends_with('3');
    let base = zone(&node_of(&cluster, "base").await);
    let mut near = pod("near");
    near["spec"]["affinity"] = json!({"podAffinity": term("base", "zone")});
    cluster.made(PODS, &near).await;
    assert_eq!(zone(&node_of(&cluster, "near").await), base);
    let mut far = pod("far");
    far["spec"]["affinity"] = json!({"podAntiAffinity": term("base", "zone")});
    cluster.made(PODS, &far).await;
    assert_ne!(zone(&node_of(&cluster, "far").await), base);
    let mut lonely = pod("lonely");
    lonely["spec"]["affinity"] = json!({"podAffinity": term("missing", "zone")});
    cluster.made(PODS, &lonely).await;
    assert_eq!(
        message(&cluster, "lonely").await,
        format!(
            "0/4 nodes are available: 4 node(s) didn't match pod affinity rules. \
             preemption: 0/4 nodes are available: 4 {NO_HELP}"
        )
    );
    // It is taken when the pod comes that it wants to be near.
    cluster.made(PODS, &pod("missing")).await;
    assert_ne!(node_of(&cluster, "lonely").await, "");
}

#[tokio::test(start_paused = true)]
async fn a_spread_constraint_is_kept_in_every_zone() {
    let cluster = cluster(4).await;
    let mut zones = Vec::new();
    for at in 0..4 {
        let mut pod = pod(&format!("a{at}"));
        pod["metadata"]["labels"] = json!({"app": "spread"});
        pod["spec"]["topologySpreadConstraints"] = json!([{
            "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "spread"}},
        }]);
        cluster.made(PODS, &pod).await;
        zones.push(node_of(&cluster, &format!("a{at}")).await);
    }
    let second = |node: &&String| node.ends_with('2') || node.ends_with('3');
    assert_eq!(zones.iter().filter(second).count(), 2, "{zones:?}");
}

#[tokio::test(start_paused = true)]
async fn an_important_pod_takes_the_place_of_the_least_important() {
    let cluster = cluster(2).await;
    for (name, value) in [("low", 1), ("middle", 10), ("high", 1000)] {
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value,
        });
        let path = "/apis/scheduling.k8s.io/v1/priorityclasses";
        cluster.post(path, &class).await.expect(201);
    }
    let of_class = |name: &str, class: &str| {
        let mut pod = asking(name, "1500m");
        pod["spec"]["priorityClassName"] = class.into();
        // It is seen while it ends.
        pod["metadata"]["finalizers"] = json!(["example.com/keep"]);
        pod
    };
    cluster.made(PODS, &of_class("a", "middle")).await;
    cluster.made(PODS, &of_class("b", "low")).await;
    let place = node_of(&cluster, "b").await;
    cluster.made(PODS, &of_class("c", "high")).await;
    let victim = cluster.read(&format!("{PODS}/b")).await;
    assert!(victim["metadata"]["deletionTimestamp"].is_string());
    let target = condition(&victim, "DisruptionTarget");
    assert_eq!(target["reason"], "PreemptionByScheduler");
    let winner = cluster.read(&format!("{PODS}/c")).await;
    assert_eq!(winner["spec"]["nodeName"], place.as_str());
    assert_ne!(node_of(&cluster, "a").await, "");
    // One of the same importance preempts no pod.
    cluster.made(PODS, &of_class("d", "low")).await;
    assert_eq!(
        message(&cluster, "d").await,
        format!(
            "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 {NO_VICTIMS}"
        )
    );
}

#[tokio::test(start_paused = true)]
async fn the_place_that_a_pod_waits_for_is_kept() {
    let slow = Workloads::default().stopped_after(Duration::from_secs(10));
    let cluster = with(Controllers::all().workloads(slow));
    settled().await;
    let room = json!({"status": {"allocatable": {"cpu": "2", "pods": "10"}}});
    let path = "/api/v1/nodes/simulated-0/status";
    cluster.patch("merge", path, &room).await.expect(200);
    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "high"}, "value": 1000,
    });
    let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    cluster.post(classes, &class).await.expect(201);
    cluster.made(PODS, &asking("low", "1500m")).await;
    let mut high = asking("high", "1500m");
    high["spec"]["priorityClassName"] = "high".into();
    cluster.made(PODS, &high).await;
    let waiting = cluster.read(&format!("{PODS}/high")).await;
    assert_eq!(waiting["status"]["nominatedNodeName"], "simulated-0");
    cluster.made(PODS, &asking("other", "600m")).await;
    assert_eq!(node_of(&cluster, "other").await, "");
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(node_of(&cluster, "high").await, "simulated-0");
    assert_eq!(node_of(&cluster, "other").await, "");
}

#[tokio::test(start_paused = true)]
async fn a_gated_pod_is_scheduled_when_its_last_gate_is_gone() {
    let cluster = all();
    let mut gated = pod("gated");
    gated["spec"]["schedulingGates"] = json!([{"name": "example.com/wait"}]);
    cluster.made(PODS, &gated).await;
    assert_eq!(node_of(&cluster, "gated").await, "");
    let open = json!({"spec": {"schedulingGates": null}});
    let path = format!("{PODS}/gated");
    cluster.patch("merge", &path, &open).await.expect(200);
    settled().await;
    assert_eq!(node_of(&cluster, "gated").await, "simulated-0");
}

#[tokio::test(start_paused = true)]
async fn a_taint_ends_pods_that_do_not_tolerate_it_or_no_longer() {
    let cluster = cluster(1).await;
    for (name, seconds) in [("never", None), ("short", Some(5)), ("long", Some(50))] {
        let mut pod = pod(name);
        if let Some(seconds) = seconds {
            pod["spec"]["tolerations"] = json!([
                {"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds},
            ]);
        }
        cluster.made(PODS, &pod).await;
    }
    let path = "/api/v1/nodes/simulated-0";
    let taints = json!({"spec": {"taints": [{"key": "broken", "effect": "NoExecute"}]}});
    cluster.patch("merge", path, &taints).await.expect(200);
    settled().await;
    assert_eq!(cluster.names(PODS).await, ["long", "short"]);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(cluster.names(PODS).await, ["long"]);
    let none = json!({"spec": {"taints": null}});
    cluster.patch("merge", path, &none).await.expect(200);
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert_eq!(cluster.names(PODS).await, ["long"]);
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_silent_node_are_unready_and_deleted_in_the_end() {
    let cluster = cluster(1).await;
    cluster.made(PODS, &pod("a")).await;
    let report =
        |ready: &str| json!({"status": {"conditions": [{"type": "Ready", "status": ready}]}});
    let path = "/api/v1/nodes/simulated-0";
    let status = format!("{path}/status");
    cluster
        .patch("strategic", &status, &report("Unknown"))
        .await
        .expect(200);
    settled().await;
    let node = cluster.read(path).await;
    let taints = node["spec"]["taints"].as_array().unwrap();
    let effects: Vec<_> = taints.iter().map(|taint| &taint["effect"]).collect();
    assert_eq!(effects, ["NoSchedule", "NoExecute"]);
    assert_eq!(taints[0]["key"], "node.kubernetes.io/unreachable");
    let pod = cluster.read(&format!("{PODS}/a")).await;
    assert_eq!(condition(&pod, "Ready")["status"], "False");
    tokio::time::sleep(Duration::from_secs(301)).await;
    let pod = cluster.read(&format!("{PODS}/a")).await;
    assert!(pod["metadata"]["deletionTimestamp"].is_string());
    // Its kubelet finds out when the node is back.
    cluster
        .patch("strategic", &status, &report("True"))
        .await
        .expect(200);
    settled().await;
    assert!(cluster.names(PODS).await.is_empty());
    let node = cluster.read(path).await;
    assert_eq!(node["spec"].get("taints"), None);
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_node_that_is_gone_are_deleted_after_a_while() {
    let cluster = cluster(1).await;
    cluster.made(PODS, &pod("a")).await;
    let node = "/api/v1/nodes/simulated-0";
    cluster.delete(node).await.expect(200);
    tokio::time::sleep(Duration::from_secs(39)).await;
    assert_eq!(cluster.names(PODS).await, ["a"]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(cluster.names(PODS).await.is_empty());
}
