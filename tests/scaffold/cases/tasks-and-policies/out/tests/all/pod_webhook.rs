//! Tests of the webhooks for Pods.

use k8s_openapi::api::core::v1::Pod;
use kubewright::prelude::*;
use kubewright::testing::{unique, yaml};

use super::cluster;

fn sample() -> Pod {
    let mut object: Pod = yaml(include_str!("../../demo/pod.yaml"));
    object.metadata.name = Some(unique("sample"));
    object
}

#[tokio::test]
async fn a_team_label_is_allowed() {
    let mut object = sample();
    object
        .labels_mut()
        .insert("example.com/team".to_owned(), "blue".to_owned());
    cluster().await.create(&object).await.expect_allowed();
}

#[tokio::test]
async fn an_empty_team_label_is_denied() {
    let mut object = sample();
    object
        .labels_mut()
        .insert("example.com/team".to_owned(), String::new());
    let denied = cluster().await.create(&object).await.expect_denied();
    assert_eq!(denied.by(), "validate-pod.example.com");
    assert_eq!(
        denied.message(),
        "the label `example.com/team` must not be empty"
    );
}
