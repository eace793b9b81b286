//! Tests of the webhooks for WhiteLists.

use guard::api::police::v1beta1::WhiteList;
use kubewright::prelude::*;
use kubewright::testing::{unique, yaml};

use super::cluster;

fn sample() -> WhiteList {
    let mut object: WhiteList = yaml(include_str!("../../demo/white-list.yaml"));
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
    assert_eq!(denied.by(), "validate-white-list.example.com");
    assert_eq!(
        denied.message(),
        "the label `example.com/team` must not be empty"
    );
}
