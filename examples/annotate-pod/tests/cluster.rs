//! The program beside an API server.

use k8s_openapi::api::core::v1::Pod;
use kubewright::Needs;
use kubewright::testing::{TestCluster, yaml};

use super::options;

/// A cluster that calls the program, with the configuration that `manifests` writes.
async fn cluster(arguments: &[&str]) -> TestCluster {
    let app = |needs: &mut Needs| annotate_pod::app(options(arguments), needs);
    TestCluster::builder()
        .app(app)
        .exact_permissions()
        .start()
        .await
}

fn annotation(pod: &Pod) -> Option<&str> {
    pod.metadata
        .annotations
        .as_ref()?
        .get("mutate")
        .map(String::as_str)
}

#[tokio::test]
async fn the_pod_of_the_walk_through_is_annotated() {
    let cluster = cluster(&[]).await;
    let pod: Pod = yaml(include_str!("../demo/pod.yaml"));
    cluster.create(&pod).await.expect_allowed();
    let stored = cluster.get::<Pod>("nginx").await.unwrap();
    assert_eq!(annotation(&stored), Some("welcome"));
    let ports = stored.spec.unwrap().containers[0].ports.clone().unwrap();
    assert_eq!(ports[0].container_port, 80);
}

#[tokio::test]
async fn the_text_can_be_chosen_and_is_utf_8() {
    let cluster = cluster(&["--text", "grüß dich 🎉"]).await;
    let mut pod: Pod = yaml(include_str!("../demo/pod.yaml"));
    pod.metadata.annotations = Some([("owner".to_owned(), "Zoë".to_owned())].into());
    let stored = cluster.create(&pod).await.expect_allowed();
    assert_eq!(annotation(&stored), Some("grüß dich 🎉"));
    assert_eq!(stored.metadata.annotations.unwrap()["owner"], "Zoë");
}

#[tokio::test]
async fn pods_are_annotated_when_they_are_created_and_not_later() {
    let cluster = cluster(&[]).await;
    let pod: Pod = yaml(include_str!("../demo/pod.yaml"));
    cluster.create(&pod).await.expect_allowed();
    let without = serde_json::json!({"metadata": {"annotations": {"mutate": null}}});
    let merged = cluster
        .merge::<Pod>("nginx", &without)
        .await
        .expect_allowed();
    assert_eq!(annotation(&merged), None);
}
