//! What becomes of WhiteLists on their way into the cluster.

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
async fn a_team_with_a_name_is_allowed() {
    let mut object = sample();
    object
        .labels_mut()
        .insert("example.com/team".to_owned(), "blue".to_owned());
    cluster().await.create(&object).await.expect_allowed();
}

#[tokio::test]
async fn a_team_without_a_name_is_denied() {
    let mut object = sample();
    object
        .labels_mut()
        .insert("example.com/team".to_owned(), String::new());
    let denied = cluster().await.create(&object).await.expect_denied();
    assert_eq!(denied.by(), "validate-white-list.example.com");
    assert_eq!(
        denied.message(),
        "the label `example.com/team` has to name a team"
    );
}
