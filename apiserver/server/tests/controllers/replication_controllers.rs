//! ReplicationControllers.

use serde_json::{Value, json};

use super::{PODS, all, settled, template};

const CONTROLLERS: &str = "/api/v1/namespaces/default/replicationcontrollers";

fn controller(replicas: u32) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": "old"},
        "spec": {"replicas": replicas, "selector": {"app": "old"}, "template": template("old")},
    })
}

#[tokio::test(start_paused = true)]
async fn a_replication_controller_keeps_the_number_of_its_pods() {
    let cluster = all();
    cluster.made(CONTROLLERS, &controller(2)).await;
    assert_eq!(cluster.names(PODS).await.len(), 2);
    let status = cluster.read(&format!("{CONTROLLERS}/old")).await["status"].clone();
    assert_eq!(
        status,
        json!({
            "replicas": 2,
            "fullyLabeledReplicas": 2,
            "readyReplicas": 2,
            "availableReplicas": 2,
            "observedGeneration": 1,
        })
    );

    let lost = cluster.names(PODS).await.remove(0);
    cluster.delete(&format!("{PODS}/{lost}")).await.expect(200);
    settled().await;
    let pods = cluster.names(PODS).await;
    assert_eq!(pods.len(), 2);
    assert!(!pods.contains(&lost));

    let fewer = json!({"spec": {"replicas": 1}});
    let path = format!("{CONTROLLERS}/old");
    cluster.patch("merge", &path, &fewer).await.expect(200);
    settled().await;
    assert_eq!(cluster.names(PODS).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_its_replication_controller_selects_no_more_is_released() {
    let cluster = all();
    cluster.made(CONTROLLERS, &controller(1)).await;
    let pod = format!("{PODS}/{}", cluster.names(PODS).await.remove(0));
    let label = json!({"metadata": {"labels": {"app": "new"}}});
    cluster.patch("merge", &pod, &label).await.expect(200);
    settled().await;
    let released = cluster.read(&pod).await;
    assert_eq!(released["metadata"].get("ownerReferences"), None);
    assert_eq!(cluster.names(PODS).await.len(), 2);
}
