//! Webhooks under test: called over HTTPS by the embedded API server, told apart from failures.

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_testing::{TestCluster, yaml};
use kubewright_webhook::{
    Change, Mutated, Review, Validated, Webhooks, deny, fail, mutating, validating,
};

fn settings(mode: &str) -> ConfigMap {
    yaml(&format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: settings}}, data: {{mode: {mode}}}}}"
    ))
}

async fn owner(change: Change<ConfigMap>, review: Review) -> Mutated<ConfigMap> {
    let mut map = change.into_object();
    let owner = review.user().username.clone();
    map.data
        .get_or_insert_default()
        .insert("owner".to_owned(), owner);
    Ok(map)
}

async fn no_slow_modes(change: Change<ConfigMap>, _: Review) -> Validated {
    match change
        .object()
        .data
        .as_ref()
        .and_then(|data| data.get("mode"))
        .map(String::as_str)
    {
        Some("slow") => deny("slow is too slow"),
        Some("broken") => fail("the database is gone"),
        _ => Ok(()),
    }
}

async fn cluster() -> TestCluster {
    let webhooks = Webhooks::new("policy.example.com")
        .with(mutating("owner", owner))
        .with(validating("no-slow-modes", no_slow_modes));
    TestCluster::builder().webhooks(webhooks).start().await
}

#[tokio::test]
async fn a_mutation_is_stored() {
    let stored = cluster()
        .await
        .create(&settings("fast"))
        .await
        .expect_allowed();
    assert_eq!(stored.data.unwrap()["owner"], "kubernetes-admin");
}

#[tokio::test]
async fn a_denial_says_who_and_why() {
    let denied = cluster()
        .await
        .create(&settings("slow"))
        .await
        .expect_denied();
    assert_eq!(denied.by(), "no-slow-modes.policy.example.com");
    assert_eq!(denied.message(), "slow is too slow");
}

#[tokio::test]
#[should_panic(
    expected = "expected a denial by a webhook or a policy, but the API server answered 500"
)]
async fn a_failure_is_not_a_denial() {
    let _ = cluster()
        .await
        .create(&settings("broken"))
        .await
        .expect_denied();
}

#[tokio::test]
async fn requests_are_made_in_the_name_of_others() {
    let cluster = cluster().await;
    let alice = cluster.as_user("alice", &["system:masters"]);
    let stored = alice.create(&settings("fast")).await.expect_allowed();
    assert_eq!(stored.data.unwrap()["owner"], "alice");
}
