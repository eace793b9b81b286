//! What the controller makes of Patrols.

use guard::api::ship::v1::Patrol;
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;
use kubewright::testing::{TestCluster, eventually, unique, yaml};

use super::cluster;

fn sample() -> Patrol {
    let mut object: Patrol = yaml(include_str!("../../demo/ship-patrol.yaml"));
    object.metadata.name = Some(unique("sample"));
    object
}

/// The ConfigMap of an object, once it is there.
async fn config_map(cluster: &TestCluster, object: &Patrol) -> ConfigMap {
    let name = format!("{}-ship-patrol", object.name_any());
    eventually("the ConfigMap", async || cluster.get(&name).await).await
}

/// An object, once it is ready.
async fn ready(cluster: &TestCluster, name: &str) -> Patrol {
    eventually("the condition Ready", async || {
        let object: Patrol = cluster.get(name).await?;
        let status = object.status.as_ref()?;
        let ready = status.conditions.iter().find(|it| it.type_ == "Ready")?;
        let is_current = status.observed_generation == object.metadata.generation;
        (is_current && ready.status == "True").then_some(object)
    })
    .await
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
    deleted_and_made_again(&cluster, &first).await;
}

#[tokio::test]
async fn what_is_ready_stays_as_it_is() {
    let cluster = cluster().await;
    let object = cluster.create(&sample()).await.expect_allowed();
    let before = ready(&cluster, &object.name_any()).await;
    // An object is reconciled once at a time: who makes the second ConfigMap is done with the first.
    for _ in 0..2 {
        let config_map = config_map(&cluster, &object).await;
        deleted_and_made_again(&cluster, &config_map).await;
    }
    let after = ready(&cluster, &object.name_any()).await;
    assert_eq!(after.resource_version(), before.resource_version());
}

async fn deleted_and_made_again(cluster: &TestCluster, config_map: &ConfigMap) {
    let name = config_map.name_any();
    cluster.delete::<ConfigMap>(&name).await.expect_allowed();
    eventually("another ConfigMap", async || {
        let found: ConfigMap = cluster.get(&name).await?;
        (found.uid() != config_map.uid()).then_some(())
    })
    .await;
}
