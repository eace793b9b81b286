//! Tests of the webhooks for Deployments.

use k8s_openapi::api::apps::v1::Deployment;
use kubewright::prelude::*;
use kubewright::testing::{unique, yaml};

use super::cluster;

fn sample() -> Deployment {
    let mut object: Deployment = yaml(include_str!("../../demo/deployment.yaml"));
    object.metadata.name = Some(unique("sample"));
    object
}

#[tokio::test]
async fn an_object_without_a_team_belongs_to_the_team_unknown() {
    let stored = cluster().await.create(&sample()).await.expect_allowed();
    assert_eq!(stored.labels()["example.com/team"], "unknown");
}

#[tokio::test]
async fn a_team_label_is_kept() {
    let mut object = sample();
    object
        .labels_mut()
        .insert("example.com/team".to_owned(), "blue".to_owned());
    let stored = cluster().await.create(&object).await.expect_allowed();
    assert_eq!(stored.labels()["example.com/team"], "blue");
}
