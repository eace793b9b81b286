//! Tests of the policy team-labels.

use guard::policies::team_labels;
use k8s_openapi::api::core::v1::Pod;
use kubewright::prelude::*;
use kubewright::testing::{PoliciesAgree, unique, yaml};
use serde_json::json;

use super::cluster;

const SAMPLE: &str = include_str!("../../demo/pod.yaml");

fn of_tier(tier: &str) -> Pod {
    let mut object: Pod = yaml(SAMPLE);
    object.metadata.name = Some(unique("sample"));
    object
        .labels_mut()
        .insert("example.com/tier".to_owned(), tier.to_owned());
    object
}

#[tokio::test]
async fn a_tier_of_the_list_is_allowed() {
    let object = of_tier("frontend");
    cluster().await.create(&object).await.expect_allowed();
}

#[tokio::test]
async fn another_tier_is_denied() {
    let object = of_tier("basement");
    let denied = cluster().await.create(&object).await.expect_denied();
    assert_eq!(denied.by(), "team-labels.example.com");
    assert_eq!(
        denied.message(),
        "the label `example.com/tier` must be backend or frontend"
    );
}

/// API servers that are too old for policies call the program instead. The expressions are checked against the types of the kind, too.
#[tokio::test]
async fn its_webhook_decides_alike() {
    let labels = ["frontend", "basement"].map(|tier| json!({"example.com/tier": tier}));
    PoliciesAgree::of(|_| team_labels::policy())
        .sample(yaml(SAMPLE))
        .values("metadata.labels", labels)
        .objects(40)
        .check()
        .await;
}
