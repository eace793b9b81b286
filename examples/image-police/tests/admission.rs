//! The rule as a webhook.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kubewright::testing::{eventually, yaml};
use serde_json::{Value, json};

use super::setting::{Setting, deployment, sample};

fn pod(name: &str, image: &str) -> Pod {
    yaml(&format!(
        "{{metadata: {{name: {name}}}, spec: {{containers: [{{name: app, image: '{image}'}}]}}}}"
    ))
}

async fn setting() -> Setting {
    let setting = Setting::with(&["--admission", "--dry-run"]).await;
    setting.list("sample", &sample()).await;
    setting.status("sample", |status| status.images == 3).await;
    setting
}

#[tokio::test]
async fn what_is_illegal_is_refused_before_it_is_stored() {
    let setting = setting().await;
    let cluster = &setting.cluster;
    let denied = cluster
        .create(&deployment("web", "redis"))
        .await
        .expect_denied();
    assert_eq!(denied.by(), "deployments.police.foo.bar");
    assert_eq!(
        denied.message(),
        "container app: the image redis is not in the WhiteList sample"
    );
    let denied = cluster
        .create(&pod("web", "nginx:1.15"))
        .await
        .expect_denied();
    assert_eq!(denied.by(), "pods.police.foo.bar");
    assert!(!setting.is_there("web").await);
    cluster
        .create(&deployment("web", "nginx"))
        .await
        .expect_allowed();
    cluster
        .create(&pod("web", "gcr.io/busybox"))
        .await
        .expect_allowed();
}

#[tokio::test]
async fn a_change_of_the_image_is_judged_and_other_changes_are_not() {
    let setting = setting().await;
    let cluster = &setting.cluster;
    cluster
        .create(&deployment("web", "nginx"))
        .await
        .expect_allowed();
    let image = |image: &str| json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": image}]}}}});
    cluster
        .merge::<Deployment>("web", &image("redis"))
        .await
        .expect_denied();
    cluster
        .merge::<Deployment>("web", &image("nginx:1.14.2"))
        .await
        .expect_allowed();
    // Who is there is not locked out when the list becomes shorter.
    let shorter = json!({"spec": {"images": []}});
    cluster
        .merge::<image_police::WhiteList>("sample", &shorter)
        .await
        .expect_allowed();
    eventually("the shorter list", async || {
        let refused = cluster.create(&pod("probe", "nginx")).await;
        let gone = cluster.delete::<Pod>("probe").await;
        drop(gone);
        format!("{refused:?}")
            .contains("is not in the WhiteList")
            .then_some(())
    })
    .await;
    let scaled = json!({"spec": {"replicas": 3}});
    cluster
        .merge::<Deployment>("web", &scaled)
        .await
        .expect_allowed();
    cluster
        .merge::<Deployment>("web", &image("nginx"))
        .await
        .expect_denied();
}

#[tokio::test]
async fn ephemeral_containers_are_judged() {
    let setting = setting().await;
    setting
        .cluster
        .create(&pod("web", "nginx"))
        .await
        .expect_allowed();
    let path = format!(
        "/api/v1/namespaces/{}/pods/web/ephemeralcontainers",
        setting.cluster.namespace()
    );
    let debug = |image: &str| {
        let containers =
            json!([{"name": "debug", "image": image, "terminationMessagePolicy": "File"}]);
        http::Request::patch(&path)
            .header("content-type", "application/merge-patch+json")
            .body(
                json!({"spec": {"ephemeralContainers": containers}})
                    .to_string()
                    .into_bytes(),
            )
            .unwrap()
    };
    let refused = setting.cluster.send(debug("busybox")).await;
    let status: Value = serde_json::from_slice(refused.body()).unwrap();
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("container debug: the image busybox"),
        "{status}"
    );
    assert_eq!(
        setting.cluster.send(debug("gcr.io/busybox")).await.status(),
        200
    );
}

#[tokio::test]
async fn namespaces_without_a_list_are_let_alone() {
    let setting = Setting::with(&["--admission"]).await;
    setting
        .cluster
        .create(&pod("web", "anything"))
        .await
        .expect_allowed();
}
