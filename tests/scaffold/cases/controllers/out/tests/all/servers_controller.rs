//! Tests of the controller servers.

use guard::api::police::v1::WhiteList;
use k8s_openapi::api::apps::v1::Deployment;
use kubewright::prelude::*;
use kubewright::testing::{TestCluster, eventually, unique, yaml};

use super::cluster;

fn sample() -> WhiteList {
    let mut object: WhiteList = yaml(include_str!("../../demo/white-list.yaml"));
    object.metadata.name = Some(unique("sample"));
    object
}

/// Waits for the Deployment of an object.
async fn deployment(cluster: &TestCluster, object: &WhiteList) -> Deployment {
    let name = format!("{}-servers", object.name_any());
    eventually("the Deployment", async || cluster.get(&name).await).await
}

#[tokio::test]
async fn a_deployment_is_created() {
    let cluster = cluster().await;
    let object = cluster.create(&sample()).await.expect_allowed();
    let deployment = deployment(&cluster, &object).await;
    assert_eq!(
        deployment.metadata.owner_references.unwrap()[0].name,
        object.name_any()
    );
}

#[tokio::test]
async fn a_deleted_deployment_is_created_again() {
    let cluster = cluster().await;
    let object = cluster.create(&sample()).await.expect_allowed();
    let first = deployment(&cluster, &object).await;
    delete_and_await_another(&cluster, &first).await;
}

async fn delete_and_await_another(cluster: &TestCluster, deployment: &Deployment) {
    let name = deployment.name_any();
    cluster.delete::<Deployment>(&name).await.expect_allowed();
    eventually("another Deployment", async || {
        let found: Deployment = cluster.get(&name).await?;
        (found.uid() != deployment.uid()).then_some(())
    })
    .await;
}
