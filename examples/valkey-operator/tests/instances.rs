//! Instances, and what belongs to them.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kubewright::testing::eventually;
use serde_json::json;

use super::setting::{Setting, image, reason};

#[tokio::test]
async fn a_valkey_gets_its_instances_services_and_password() {
    let setting = Setting::start().await;
    let spec = json!({"version": "8.0", "replicas": 3, "storage": {"size": "5Gi"}});
    setting.create("cache", spec).await;
    let status = setting.at_rest("cache").await;
    assert_eq!(
        (status.version.as_deref(), status.ready_instances),
        (Some("8.0"), 3)
    );

    let pods = setting.pods("cache").await;
    let images: Vec<&str> = pods.iter().map(image).collect();
    assert_eq!(images, ["docker.io/valkey/valkey:8.0"; 3]);
    let set: StatefulSet = setting.cluster.get("cache").await.unwrap();
    let claims = set.spec.volume_claim_templates.unwrap();
    let size = &claims[0]
        .spec
        .as_ref()
        .unwrap()
        .resources
        .as_ref()
        .unwrap()
        .requests;
    assert_eq!(size.as_ref().unwrap()["storage"].0, "5Gi");
    let primary: Service = setting.cluster.get("cache").await.unwrap();
    let selector = primary.spec.unwrap().selector.unwrap();
    assert_eq!(selector["statefulset.kubernetes.io/pod-name"], "cache-0");
    let secret = setting.secret("cache").await.data.unwrap();
    assert_eq!(secret["password"].0.len(), 48);
    let budget = setting.cluster.get::<PodDisruptionBudget>("cache").await;
    assert!(budget.is_some());
}

#[tokio::test]
async fn what_is_changed_or_deleted_by_hand_is_put_back() {
    let setting = Setting::start().await;
    setting.create("cache", json!({"version": "8.0"})).await;
    setting.at_rest("cache").await;
    let script = json!({"data": {"start.sh": "exit 1"}});
    let map = setting
        .cluster
        .merge::<ConfigMap>("cache-settings", &script);
    map.await.expect_allowed();
    let service = setting.cluster.delete::<Service>("cache").await;
    service.expect_allowed();
    let scaled = json!({"spec": {"replicas": 5}});
    let set = setting.cluster.merge::<StatefulSet>("cache", &scaled).await;
    set.expect_allowed();
    eventually("what was changed to be put back", async || {
        let map: ConfigMap = setting.cluster.get("cache-settings").await?;
        let set: StatefulSet = setting.cluster.get("cache").await?;
        setting.cluster.get::<Service>("cache").await?;
        (map.data?["start.sh"].contains("valkey-server") && set.spec.replicas == Some(1))
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn instances_come_and_go_with_the_replicas() {
    let setting = Setting::start().await;
    setting.create("cache", json!({"version": "8.0"})).await;
    setting.at_rest("cache").await;
    for replicas in [3, 1] {
        setting
            .change("cache", json!({"spec": {"replicas": replicas}}))
            .await;
        let is_scaled = |status: &valkey_operator::api::v1::ValkeyStatus| {
            status.ready_instances == replicas && reason(status, "Progressing") == Some("Complete")
        };
        setting.status("cache", "scaled", is_scaled).await;
        eventually("the pods", async || {
            let pods = setting.pods("cache").await.len();
            (i32::try_from(pods) == Ok(replicas)).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn everything_goes_with_a_valkey_and_nothing_with_another_one() {
    let setting = Setting::start().await;
    for name in ["cache", "cache-1"] {
        setting.create(name, json!({"version": "8.0"})).await;
    }
    for name in ["cache", "cache-1"] {
        setting.at_rest(name).await;
    }
    let deleted = setting
        .cluster
        .delete::<valkey_operator::api::v1::Valkey>("cache");
    deleted.await.expect_allowed();
    eventually("the end of the Valkey", async || {
        let is_gone = setting.get("cache").await.is_none()
            && setting.pods("cache").await.is_empty()
            && setting
                .cluster
                .get::<Secret>("cache-password")
                .await
                .is_none();
        is_gone.then_some(())
    })
    .await;
    let status = setting.at_rest("cache-1").await;
    assert_eq!(status.ready_instances, 1);
    assert_eq!(setting.pods("cache-1").await.len(), 1);
}

/// A Secret of this name was there before, and is not this program's.
#[tokio::test]
async fn what_another_program_has_made_is_left_alone() {
    let setting = Setting::start().await;
    let theirs: Secret = kubewright::testing::yaml(
        "{metadata: {name: cache-password}, stringData: {password: theirs}}",
    );
    setting.cluster.create(&theirs).await.expect_allowed();
    setting.create("cache", json!({"version": "8.0"})).await;
    setting.create("other", json!({"version": "8.0"})).await;
    setting.at_rest("other").await;
    let secret = setting.secret("cache").await;
    assert_eq!(secret.data.unwrap()["password"].0, b"theirs");
    assert!(secret.metadata.owner_references.is_none());
    assert!(setting.pods("cache").await.is_empty());
    setting
        .cluster
        .delete::<Secret>("cache-password")
        .await
        .expect_allowed();
    let again = json!({"metadata": {"annotations": {"again": "now"}}});
    setting.change("cache", again).await;
    setting.at_rest("cache").await;
}
