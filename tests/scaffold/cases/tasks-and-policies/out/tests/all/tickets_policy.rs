//! Tests of the policy tickets.

use guard::api::example_org::v1::Ticket;
use kubewright::prelude::*;
use kubewright::testing::{unique, yaml};

use super::cluster;

const SAMPLE: &str = include_str!("../../demo/ticket.yaml");

fn of_tier(tier: &str) -> Ticket {
    let mut object: Ticket = yaml(SAMPLE);
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
    assert_eq!(denied.by(), "tickets.example.com");
    assert_eq!(
        denied.message(),
        "the label `example.com/tier` must be backend or frontend"
    );
}
