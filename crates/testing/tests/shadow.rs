//! Hooks in shadow mode under load: nothing changes, nothing is denied, and every decision is counted.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use kubewright_policy::{ParamRef, Policy, Validates};
use kubewright_testing::{Server, TestCluster};
use kubewright_webhook::{
    Change, Mutated, Review, Validated, Webhooks, deny, fail, mutating, validating,
};
use serde_json::json;

/// How many objects are created and updated, and how many of these requests are in flight.
const OBJECTS: usize = 200;
const IN_FLIGHT: usize = 32;

async fn label(change: Change<ConfigMap>, review: Review) -> Mutated<ConfigMap> {
    review.warn("this is changed");
    let mut map = change.into_object();
    let labels = map.metadata.labels.get_or_insert_default();
    labels.insert("team".to_owned(), "blue".to_owned());
    map.data = None;
    Ok(map)
}

async fn frozen(_: Change<ConfigMap>, _: Review) -> Validated {
    deny("everything is frozen")
}

async fn broken(change: Change<ConfigMap>, _: Review) -> Validated {
    let name = change.object().metadata.name.clone().unwrap_or_default();
    assert!(!name.ends_with('7'), "the handler panics");
    fail("the handler fails")
}

async fn nothing_changes_under_load(server: Server) {
    let webhooks = Webhooks::new("policy.example.com")
        .with(mutating("label", label).shadow())
        .with(validating("frozen", frozen).shadow())
        .with(validating("broken", broken).shadow());
    let cluster = TestCluster::builder()
        .on(server)
        .webhooks(webhooks.clone())
        .start()
        .await;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), cluster.namespace());
    let parameters = PostParams::default();
    let one = async |number: usize| {
        let name = format!("map-{number}");
        let map = |text: &str| -> ConfigMap {
            let map = json!({"metadata": {"name": name}, "data": {"text": text}});
            serde_json::from_value(map).expect("a ConfigMap")
        };
        let created = maps.create(&parameters, &map("created")).await?;
        let updated = maps.replace(&name, &parameters, &map("updated")).await?;
        for (stored, sent) in [(created, map("created")), (updated, map("updated"))] {
            assert_eq!(stored.data, sent.data, "{name}");
            assert_eq!(stored.metadata.labels, None, "{name}");
        }
        Ok::<(), kube::Error>(())
    };
    let requests = stream::iter(0..OBJECTS)
        .map(one)
        .buffer_unordered(IN_FLIGHT);
    requests
        .try_for_each(async |()| Ok(()))
        .await
        .expect("nothing is denied");

    let calls = 2 * OBJECTS as u64;
    let [label, frozen, broken] = webhooks.outcomes().try_into().expect("three hooks");
    assert_eq!((label.1.changed, label.1.allowed), (calls, 0));
    assert_eq!((frozen.1.denied, frozen.1.allowed), (calls, 0));
    assert_eq!(broken.1.failed + broken.1.panicked, calls);
    assert!(broken.1.panicked > 0);
}

#[tokio::test]
async fn a_hook_in_shadow_mode_changes_and_denies_nothing_under_load() {
    nothing_changes_under_load(Server::Embedded).await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn a_hook_in_shadow_mode_changes_and_denies_nothing_on_a_real_api_server() {
    nothing_changes_under_load(Server::Real).await;
}

/// Policies that deny, each for another reason.
fn denying() -> [Policy<ConfigMap, Validates>; 3] {
    [
        Policy::validating("rule").rule("false", "everything is frozen"),
        Policy::validating("annotation").audit_annotation("size", "string(object.data.missing)"),
        Policy::validating("params")
            .params::<ConfigMap>(ParamRef::named("missing"))
            .rule("params.data.size() == 0", "there are params"),
    ]
}

#[tokio::test]
async fn a_policy_in_shadow_mode_denies_for_no_reason() {
    let map: ConfigMap = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map"}, "data": {"a": "b"},
    }))
    .expect("a ConfigMap");
    for policy in denying() {
        let webhooks = Webhooks::new("policy.example.com").with(policy);
        let cluster = TestCluster::builder().webhooks(webhooks).start().await;
        let refused = cluster.create(&map).await.expect_status();
        assert!(refused.message.contains("denied request: "), "{refused:?}");
    }
    let [rule, annotation, params] = denying().map(Policy::shadow);
    let webhooks = Webhooks::new("policy.example.com");
    let webhooks = webhooks.with(rule).with(annotation).with(params);
    assert_eq!(webhooks.policies().len(), 3);
    let cluster = TestCluster::builder().webhooks(webhooks).start().await;
    let created = cluster.create(&map).await.expect_allowed();
    assert_eq!(created.metadata.name.as_deref(), Some("map"));
}

#[tokio::test]
#[should_panic(expected = "rule 1: ERROR: <input>:1:4: Syntax error")]
async fn a_policy_that_does_not_compile_is_refused_with_its_mistake() {
    let policy = Policy::<ConfigMap>::validating("broken").rule("1 +", "");
    let webhooks = Webhooks::new("policy.example.com").with(policy);
    TestCluster::builder().webhooks(webhooks).start().await;
}
