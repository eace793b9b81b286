//! PersistentVolumes and their claims.

use serde_json::{Value, json};

use super::{PODS, all, settled};
use crate::cluster::Cluster;

const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const VOLUMES: &str = "/api/v1/persistentvolumes";
const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";

fn volume(name: &str, size: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "manual",
            "hostPath": {"path": "/data"},
        },
    })
}

fn claim(name: &str, class: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": class,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "2Gi"}},
        },
    })
}

fn class(name: &str, provisioner: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
    })
}

async fn phase(cluster: &Cluster, path: &str) -> String {
    let object = cluster.read(path).await;
    object["status"]["phase"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_bound_to_the_smallest_volume_that_fits() {
    let cluster = all();
    for (name, size) in [("small", "1Gi"), ("large", "9Gi"), ("middle", "3Gi")] {
        cluster.made(VOLUMES, &volume(name, size)).await;
        let path = format!("{VOLUMES}/{name}");
        assert_eq!(phase(&cluster, &path).await, "Available");
    }
    cluster.made(CLAIMS, &claim("data", "manual")).await;
    let data = cluster.read(&format!("{CLAIMS}/data")).await;
    assert_eq!(data["spec"]["volumeName"], "middle");
    assert_eq!(data["status"]["phase"], "Bound");
    assert_eq!(data["status"]["capacity"]["storage"], "3Gi");
    let middle = cluster.read(&format!("{VOLUMES}/middle")).await;
    assert_eq!(middle["status"]["phase"], "Bound");
    assert_eq!(middle["spec"]["claimRef"]["uid"], data["metadata"]["uid"]);
    cluster.delete(&format!("{CLAIMS}/data")).await.expect(200);
    settled().await;
    let path = format!("{VOLUMES}/middle");
    assert_eq!(phase(&cluster, &path).await, "Released");
}

#[tokio::test(start_paused = true)]
async fn a_claim_waits_for_a_volume() {
    let cluster = all();
    cluster.made(CLAIMS, &claim("data", "manual")).await;
    let path = format!("{CLAIMS}/data");
    assert_eq!(phase(&cluster, &path).await, "Pending");
    cluster.made(VOLUMES, &volume("late", "2Gi")).await;
    assert_eq!(phase(&cluster, &path).await, "Bound");
}

#[tokio::test(start_paused = true)]
async fn the_simulated_provisioner_makes_volumes_and_deletes_them() {
    let cluster = all();
    let simulated = class("fast", "simulated.kubewright.dev");
    cluster.post(CLASSES, &simulated).await.expect(201);
    cluster.made(CLAIMS, &claim("data", "fast")).await;
    let data = cluster.read(&format!("{CLAIMS}/data")).await;
    assert_eq!(data["status"]["phase"], "Bound");
    let volume = cluster.names(VOLUMES).await.remove(0);
    assert_eq!(
        volume,
        format!("pvc-{}", data["metadata"]["uid"].as_str().unwrap())
    );
    cluster.delete(&format!("{CLAIMS}/data")).await.expect(200);
    settled().await;
    assert!(cluster.names(VOLUMES).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_claim_of_another_provisioner_waits_for_that_one() {
    let cluster = all();
    let other = class("other", "example.com/disks");
    cluster.post(CLASSES, &other).await.expect(201);
    cluster.made(CLAIMS, &claim("data", "other")).await;
    let data = cluster.read(&format!("{CLAIMS}/data")).await;
    assert_eq!(data["status"]["phase"], "Pending");
    let annotations = &data["metadata"]["annotations"];
    assert_eq!(
        annotations["volume.kubernetes.io/storage-provisioner"],
        "example.com/disks"
    );
    assert!(cluster.names(VOLUMES).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_waits_for_its_first_consumer_is_bound_when_a_pod_uses_it() {
    let cluster = all();
    let mut late = class("late", "simulated.kubewright.dev");
    late["volumeBindingMode"] = "WaitForFirstConsumer".into();
    cluster.post(CLASSES, &late).await.expect(201);
    cluster.made(CLAIMS, &claim("data", "late")).await;
    let path = format!("{CLAIMS}/data");
    assert_eq!(phase(&cluster, &path).await, "Pending");
    cluster.made(PODS, &user("data")).await;
    assert_eq!(phase(&cluster, &path).await, "Bound");
    let data = cluster.read(&path).await;
    let annotations = &data["metadata"]["annotations"];
    assert_eq!(
        annotations["volume.kubernetes.io/selected-node"],
        "simulated-0"
    );
}

#[tokio::test(start_paused = true)]
async fn a_claim_stays_while_a_pod_uses_it_and_a_volume_while_it_is_bound() {
    let cluster = all();
    cluster.made(VOLUMES, &volume("disk", "2Gi")).await;
    cluster.made(CLAIMS, &claim("data", "manual")).await;
    cluster.made(PODS, &user("data")).await;
    for path in [format!("{CLAIMS}/data"), format!("{VOLUMES}/disk")] {
        cluster.delete(&path).await.expect(200);
        settled().await;
        let kept = cluster.read(&path).await;
        assert!(kept["metadata"]["deletionTimestamp"].is_string(), "{path}");
    }
    cluster.delete(&format!("{PODS}/user")).await.expect(200);
    settled().await;
    assert!(cluster.names(CLAIMS).await.is_empty());
    assert!(cluster.names(VOLUMES).await.is_empty());
}

/// A pod that uses a claim.
fn user(claim: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "user"},
        "spec": {
            "containers": [{"name": "main", "image": "nginx"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
        },
    })
}

#[tokio::test(start_paused = true)]
async fn a_class_of_attributes_stays_while_a_claim_names_it() {
    let cluster = all();
    let classes = "/apis/storage.k8s.io/v1/volumeattributesclasses";
    let class = json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttributesClass",
        "metadata": {"name": "gold"},
        "driverName": "example.com",
        "parameters": {"iops": "1000"},
    });
    cluster.made(classes, &class).await;
    let mut named = claim("data", "manual");
    named["spec"]["volumeAttributesClassName"] = "gold".into();
    cluster.made(CLAIMS, &named).await;
    cluster.delete(&format!("{classes}/gold")).await.expect(200);
    settled().await;
    assert_eq!(cluster.names(classes).await, ["gold"]);
    cluster.delete(&format!("{CLAIMS}/data")).await.expect(200);
    settled().await;
    assert!(cluster.names(classes).await.is_empty());
}
