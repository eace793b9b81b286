//! What the controller makes of WhiteLists.

use guard::api::police::v1beta1::WhiteList;
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;
use kubewright::testing::{TestCluster, eventually, unique, yaml};

use super::cluster;

fn sample() -> WhiteList {
    let mut object: WhiteList = yaml(include_str!("../../demo/white-list.yaml"));
    object.metadata.name = Some(unique("sample"));
    object
}

/// The ConfigMap of an object, once it is there.
async fn config_map(cluster: &TestCluster, object: &WhiteList) -> ConfigMap {
    let name = format!("{}-white-list", object.name_any());
    eventually("the ConfigMap", async || cluster.get(&name).await).await
}

#[tokio::test]
async fn a_config_map_is_made() {
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
async fn a_config_map_that_somebody_deletes_is_made_again() {
    let cluster = cluster().await;
    let object = cluster.create(&sample()).await.expect_allowed();
    let first = config_map(&cluster, &object).await;
    cluster
        .delete::<ConfigMap>(&first.name_any())
        .await
        .expect_allowed();
    eventually("another ConfigMap", async || {
        let found: ConfigMap = cluster.get(&first.name_any()).await?;
        (found.uid() != first.uid()).then_some(())
    })
    .await;
}
