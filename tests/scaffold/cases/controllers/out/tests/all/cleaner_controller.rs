//! Tests of the controller cleaner.

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
    let name = format!("{}-cleaner", object.name_any());
    eventually("the ConfigMap", async || cluster.get(&name).await).await
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

async fn delete_and_await_another(cluster: &TestCluster, config_map: &ConfigMap) {
    let name = config_map.name_any();
    cluster.delete::<ConfigMap>(&name).await.expect_allowed();
    eventually("another ConfigMap", async || {
        let found: ConfigMap = cluster.get(&name).await?;
        (found.uid() != config_map.uid()).then_some(())
    })
    .await;
}
