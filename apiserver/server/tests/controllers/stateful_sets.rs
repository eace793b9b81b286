//! StatefulSets.

use std::time::Duration;

use kubewright_apiserver::{Controllers, Workloads};
use serde_json::{Value, json};

use super::{PODS, all, settled, template, with};
use crate::cluster::Cluster;

const SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
const REVISIONS: &str = "/apis/apps/v1/namespaces/default/controllerrevisions";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";

fn set(name: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "serviceName": name,
            "selector": {"matchLabels": {"app": name}},
            "template": template(name),
        },
    })
}

fn image(image: &str) -> Value {
    json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image}])
}

async fn images(cluster: &Cluster) -> Vec<String> {
    let pods = cluster.read(PODS).await;
    let pods = pods["items"].as_array().unwrap().iter();
    pods.map(|pod| {
        pod["spec"]["containers"][0]["image"]
            .as_str()
            .unwrap()
            .to_owned()
    })
    .collect()
}

#[tokio::test(start_paused = true)]
async fn pods_are_made_one_after_the_other_with_names_of_their_own() {
    let slow = Workloads::default().ready_after(Duration::from_secs(10));
    let cluster = with(Controllers::all().workloads(slow));
    cluster.made(SETS, &set("db", 3)).await;
    assert_eq!(cluster.names(PODS).await, ["db-0"]);
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(cluster.names(PODS).await, ["db-0", "db-1"]);
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!(cluster.names(PODS).await, ["db-0", "db-1", "db-2"]);
    let db = cluster.read(&format!("{SETS}/db")).await;
    let status = &db["status"];
    for name in [
        "replicas",
        "readyReplicas",
        "availableReplicas",
        "currentReplicas",
        "updatedReplicas",
    ] {
        assert_eq!(status[name], 3, "{name}");
    }
    assert_eq!(status["currentRevision"], status["updateRevision"]);
    let pod = cluster.read(&format!("{PODS}/db-1")).await;
    let labels = &pod["metadata"]["labels"];
    assert_eq!(labels["statefulset.kubernetes.io/pod-name"], "db-1");
    assert_eq!(labels["apps.kubernetes.io/pod-index"], "1");
    assert_eq!(labels["controller-revision-hash"], status["updateRevision"]);
    assert_eq!(pod["spec"]["hostname"], "db-1");
    assert_eq!(pod["spec"]["subdomain"], "db");
}

#[tokio::test(start_paused = true)]
async fn pods_that_need_no_order_are_made_at_once_and_begin_where_they_are_told() {
    let slow = Workloads::default().ready_after(Duration::from_secs(10));
    let cluster = with(Controllers::all().workloads(slow));
    let mut db = set("db", 3);
    db["spec"]["podManagementPolicy"] = "Parallel".into();
    db["spec"]["ordinals"] = json!({"start": 5});
    cluster.made(SETS, &db).await;
    assert_eq!(cluster.names(PODS).await, ["db-5", "db-6", "db-7"]);
}

#[tokio::test(start_paused = true)]
async fn each_pod_has_claims_that_outlive_it() {
    let cluster = all();
    let mut db = set("db", 2);
    db["spec"]["volumeClaimTemplates"] = json!([{
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }]);
    cluster.made(SETS, &db).await;
    assert_eq!(cluster.names(CLAIMS).await, ["data-db-0", "data-db-1"]);
    let pod = cluster.read(&format!("{PODS}/db-1")).await;
    let volume = &pod["spec"]["volumes"][0];
    assert_eq!(volume["name"], "data");
    assert_eq!(volume["persistentVolumeClaim"]["claimName"], "data-db-1");
    let scaled = json!({"spec": {"replicas": 0}});
    cluster
        .patch("merge", &format!("{SETS}/db"), &scaled)
        .await
        .expect(200);
    settled().await;
    assert!(cluster.names(PODS).await.is_empty());
    assert_eq!(cluster.names(CLAIMS).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_update_begins_with_the_last_pod_and_waits_for_each() {
    let slow = Workloads::default().ready_after(Duration::from_secs(10));
    let cluster = with(Controllers::all().workloads(slow));
    cluster.made(SETS, &set("db", 3)).await;
    tokio::time::sleep(Duration::from_secs(40)).await;
    let path = format!("{SETS}/db");
    cluster
        .patch("json", &path, &image("nginx:2"))
        .await
        .expect(200);
    settled().await;
    assert_eq!(images(&cluster).await, ["nginx:1", "nginx:1", "nginx:2"]);
    let db = cluster.read(&path).await;
    assert_ne!(
        db["status"]["currentRevision"],
        db["status"]["updateRevision"]
    );
    assert_eq!(db["status"]["updatedReplicas"], 1);
    tokio::time::sleep(Duration::from_secs(40)).await;
    assert_eq!(images(&cluster).await, ["nginx:2", "nginx:2", "nginx:2"]);
    let db = cluster.read(&path).await;
    assert_eq!(
        db["status"]["currentRevision"],
        db["status"]["updateRevision"]
    );
    let mut numbers: Vec<_> = cluster.read(REVISIONS).await["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|revision| revision["revision"].as_i64().unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2]);

    cluster
        .patch("json", &path, &image("nginx:1"))
        .await
        .expect(200);
    tokio::time::sleep(Duration::from_secs(40)).await;
    assert_eq!(images(&cluster).await, ["nginx:1", "nginx:1", "nginx:1"]);
    assert_eq!(cluster.names(REVISIONS).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn pods_below_the_partition_keep_the_old_template_even_when_they_are_made_again() {
    let cluster = all();
    let mut db = set("db", 3);
    db["spec"]["updateStrategy"] = json!({
        "type": "RollingUpdate",
        "rollingUpdate": {"partition": 2},
    });
    cluster.made(SETS, &db).await;
    cluster
        .patch("json", &format!("{SETS}/db"), &image("nginx:2"))
        .await
        .expect(200);
    settled().await;
    assert_eq!(images(&cluster).await, ["nginx:1", "nginx:1", "nginx:2"]);
    cluster.delete(&format!("{PODS}/db-0")).await.expect(200);
    settled().await;
    assert_eq!(images(&cluster).await, ["nginx:1", "nginx:1", "nginx:2"]);
}

#[tokio::test(start_paused = true)]
async fn on_delete_leaves_the_update_to_whoever_deletes_the_pods() {
    let cluster = all();
    let mut db = set("db", 2);
    db["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
    cluster.made(SETS, &db).await;
    cluster
        .patch("json", &format!("{SETS}/db"), &image("nginx:2"))
        .await
        .expect(200);
    settled().await;
    assert_eq!(images(&cluster).await, ["nginx:1", "nginx:1"]);
    cluster.delete(&format!("{PODS}/db-0")).await.expect(200);
    settled().await;
    assert_eq!(images(&cluster).await, ["nginx:2", "nginx:1"]);
}

#[tokio::test(start_paused = true)]
async fn a_smaller_set_loses_its_last_pods() {
    let cluster = all();
    cluster.made(SETS, &set("db", 4)).await;
    let scaled = json!({"spec": {"replicas": 1}});
    let path = format!("{SETS}/db/scale");
    cluster.patch("merge", &path, &scaled).await.expect(200);
    settled().await;
    assert_eq!(cluster.names(PODS).await, ["db-0"]);
    let revision = cluster.read(PODS).await["metadata"]["resourceVersion"].clone();
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(
        cluster.read(PODS).await["metadata"]["resourceVersion"],
        revision
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_its_node_rejects_is_made_again_in_the_time_of_a_kubelet() {
    let cluster = all();
    let taken = json!([{"containerPort": 80, "hostPort": 8080}]);
    let mut first = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "first"}, "spec": template("first")["spec"],
    });
    first["spec"]["nodeName"] = "simulated-0".into();
    first["spec"]["containers"][0]["ports"] = taken;
    let mut set = set("db", 1);
    set["spec"]["template"]["spec"] = first["spec"].clone();
    cluster.made(PODS, &first).await;
    cluster.made(SETS, &set).await;
    tokio::time::sleep(Duration::from_millis(10_500)).await;
    let events = cluster
        .read("/api/v1/namespaces/default/events?fieldSelector=reason=SuccessfulDelete")
        .await;
    assert_eq!(events["items"][0]["count"], 10);
    let gone = cluster.delete(&format!("{PODS}/first")).await;
    assert_eq!(gone.code, 200);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let pod = cluster.read(&format!("{PODS}/db-0")).await;
    assert_eq!(pod["status"]["phase"], "Running");
}
