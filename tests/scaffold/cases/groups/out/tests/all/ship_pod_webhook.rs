//! Tests of the webhooks for Pods.

use guard::api::ship::v1::Pod;
use kubewright::prelude::*;
use kubewright::testing::{unique, yaml};

use super::cluster;

fn sample() -> Pod {
    let mut object: Pod = yaml(include_str!("../../demo/ship-pod.yaml"));
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
