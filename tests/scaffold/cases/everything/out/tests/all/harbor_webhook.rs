//! Tests of the webhooks for Harbors.

use guard::api::ship::v1alpha1::Harbor;
use kubewright::prelude::*;
use kubewright::testing::{unique, yaml};

use super::cluster;

fn sample() -> Harbor {
    let mut object: Harbor = yaml(include_str!("../../demo/harbor.yaml"));
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
    assert_eq!(denied.by(), "validate-harbor.example.com");
    assert_eq!(
        denied.message(),
        "the label `example.com/team` must not be empty"
    );
}
