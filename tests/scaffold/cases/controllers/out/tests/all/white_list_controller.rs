//! Tests of the controller of WhiteLists.

use guard::api::police::v1::WhiteList;
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;
use kubewright::testing::{TestCluster, eventually, unique, yaml};

use super::cluster;

fn sample() -> WhiteList {
    let mut object: WhiteList = yaml(include_str!("../../demo/white-list.yaml"));
    object.metadata.name = Some(unique("sample"));
    object
}

/// Waits for the ConfigMap of an object.
async fn config_map(cluster: &TestCluster, object: &WhiteList) -> ConfigMap {
    let name = format!("{}-white-list", object.name_any());
    eventually("the ConfigMap", async || cluster.get(&name).await).await
}

/// Waits for an object with the condition Ready.
async fn ready(cluster: &TestCluster, name: &str) -> WhiteList {
    eventually("the condition Ready", async || {
        let object: WhiteList = cluster.get(name).await?;
        let status = object.status.as_ref()?;
        let ready = status.conditions.iter().find(|it| it.type_ == "Ready")?;
        let is_current = status.observed_generation == object.metadata.generation;
        (is_current && ready.status == "True").then_some(object)
    })
    .await
}

#[tokio::test]
async fn a_config_map_is_created() {
    let cluster = cluster().await;
    let object = cluster.create(&sample()).await.expect_allowed();
    let config_map = config_map(&cluster, &object).await;
    assert_eq!(config_map.data.unwrap()["for"], object.name_any());
    assert_eq!(
        config_map.metadata.owner_references.unwrap()[0].name,
        object.name_any()
    );
}

#[tokio::test]
async fn a_deleted_config_map_is_created_again() {
    let cluster = cluster().await;
    let object = cluster.create(&sample()).await.expect_allowed();
    let first = config_map(&cluster, &object).await;
    delete_and_await_another(&cluster, &first).await;
}

#[tokio::test]
async fn a_ready_object_is_not_updated_again() {
    let cluster = cluster().await;
    let object = cluster.create(&sample()).await.expect_allowed();
    let before = ready(&cluster, &object.name_any()).await;
    // One reconcile runs at a time for an object: the second one starts after the first has ended.
    for _ in 0..2 {
        let config_map = config_map(&cluster, &object).await;
        delete_and_await_another(&cluster, &config_map).await;
    }
    let after = ready(&cluster, &object.name_any()).await;
    assert_eq!(after.resource_version(), before.resource_version());
}

async fn delete_and_await_another(cluster: &TestCluster, config_map: &ConfigMap) {
    let name = config_map.name_any();
    cluster.delete::<ConfigMap>(&name).await.expect_allowed();
    eventually("another ConfigMap", async || {
        let found: ConfigMap = cluster.get(&name).await?;
        (found.uid() != config_map.uid()).then_some(())
    })
    .await;
}
