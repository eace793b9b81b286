//! Tests of the controller white-list-patrols.

use guard::api::police::v1::Patrol;
use guard::api::police::v1::WhiteList;
use kubewright::prelude::*;
use kubewright::testing::{TestCluster, eventually, unique, yaml};

use super::cluster;

fn sample() -> WhiteList {
    let mut object: WhiteList = yaml(include_str!("../../demo/white-list.yaml"));
    object.metadata.name = Some(unique("sample"));
    object
}

/// Waits for the Patrol of an object.
async fn patrol(cluster: &TestCluster, object: &WhiteList) -> Patrol {
    let name = format!("{}-white-list-patrols", object.name_any());
    eventually("the Patrol", async || cluster.get(&name).await).await
}

#[tokio::test]
async fn a_patrol_is_created() {
    let cluster = cluster().await;
    let object = cluster.create(&sample()).await.expect_allowed();
    let patrol = patrol(&cluster, &object).await;
    assert_eq!(
        patrol.metadata.owner_references.unwrap()[0].name,
        object.name_any()
    );
}

#[tokio::test]
async fn a_deleted_patrol_is_created_again() {
    let cluster = cluster().await;
    let object = cluster.create(&sample()).await.expect_allowed();
    let first = patrol(&cluster, &object).await;
    delete_and_await_another(&cluster, &first).await;
}

async fn delete_and_await_another(cluster: &TestCluster, patrol: &Patrol) {
    let name = patrol.name_any();
    cluster.delete::<Patrol>(&name).await.expect_allowed();
    eventually("another Patrol", async || {
        let found: Patrol = cluster.get(&name).await?;
        (found.uid() != patrol.uid()).then_some(())
    })
    .await;
}
