//! A.5 to A.7: which requests a webhook is called for.

use serde_json::{Value, json};

use super::hook::{Hook, allow, but};
use super::setting::{Setting, config_map, create, delete, namespace, request};
use crate::{Attributes, Operation};

/// Whether a webhook with these changes is called for the request.
async fn called(changes: Value, attributes: Attributes) -> bool {
    let (calls, outcome) = sent(changes, attributes).await;
    outcome.unwrap();
    calls == 1
}

async fn sent(changes: Value, mut attributes: Attributes) -> (usize, Result<(), String>) {
    let hook = Hook::start(allow).await;
    let webhook = but(hook.webhook("one.example.com"), changes);
    let setting = Setting::new().mutating("a", [webhook]);
    let outcome = setting.mutate(&mut attributes).await;
    (
        hook.calls(),
        outcome.map_err(|status| status.message().to_owned()),
    )
}

fn everything(operations: &[&str]) -> Value {
    json!([{"operations": operations, "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}])
}

#[tokio::test]
async fn a5_1_a_webhook_without_rules_is_never_called() {
    assert!(!called(json!({"rules": []}), create(config_map())).await);
}

#[tokio::test]
async fn a6_the_labels_of_the_namespace_decide() {
    let labelled = |value: &str| json!({"namespaceSelector": {"matchLabels": {"team": value}}});
    assert!(called(labelled("blue"), create(config_map())).await);
    assert!(!called(labelled("red"), create(config_map())).await);
    let expression = json!([{"key": "team", "operator": "NotIn", "values": ["blue"]}]);
    let selector = json!({"namespaceSelector": {"matchExpressions": expression}});
    assert!(!called(selector, create(config_map())).await);
}

#[tokio::test]
async fn a6_cluster_scoped_requests_always_match_except_for_namespaces() {
    let selector = json!({"matchLabels": {"team": "red"}});
    let changes = json!({"namespaceSelector": selector, "rules": everything(&["*"])});
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}});
    assert!(called(changes.clone(), create(node)).await);
    let blue = namespace("blue", &json!({"team": "blue"}));
    assert!(!called(changes, create(blue)).await);
}

#[tokio::test]
async fn a6_a_new_namespace_is_judged_by_its_own_labels_and_a_deleted_one_by_the_stored_labels() {
    let changes = json!({
        "namespaceSelector": {"matchLabels": {"team": "red"}},
        "rules": everything(&["*"]),
    });
    let red = namespace("blue", &json!({"team": "red"}));
    assert!(called(changes.clone(), create(red.clone())).await);
    assert!(
        called(
            changes.clone(),
            request(Operation::Update, red.clone(), red.clone())
        )
        .await
    );
    // The store still says `team: blue`.
    assert!(!called(changes.clone(), delete(red.clone())).await);
    let mut status = request(Operation::Update, red.clone(), red);
    status.subresource = "status".to_owned();
    assert!(!called(changes, status).await);
}

#[tokio::test]
async fn a6_a_missing_namespace_is_404_only_if_the_rules_match() {
    let selector = json!({"matchLabels": {"team": "red"}});
    let mut attributes = delete(config_map());
    attributes.namespace = "gone".to_owned();
    let other = json!({"namespaceSelector": selector, "rules": everything(&["CREATE"])});
    assert_eq!(sent(other, attributes.clone()).await, (0, Ok(())));
    let matching = json!({"namespaceSelector": selector, "rules": everything(&["DELETE"])});
    let refused = Err(r#"namespaces "gone" not found"#.to_owned());
    assert_eq!(sent(matching, attributes).await, (0, refused));
}

#[tokio::test]
async fn a6_a_selector_that_is_absent_matches_nothing() {
    assert!(!called(json!({"namespaceSelector": null}), create(config_map())).await);
    assert!(!called(json!({"objectSelector": null}), create(config_map())).await);
}

#[tokio::test]
async fn a6_a_selector_that_cannot_be_read_is_an_error_only_if_the_rules_match() {
    let bad = json!({"matchExpressions": [{"key": "team", "operator": "In", "values": []}]});
    let other = json!({"namespaceSelector": bad, "rules": everything(&["DELETE"])});
    assert_eq!(sent(other, create(config_map())).await, (0, Ok(())));
    let matching = json!({"namespaceSelector": bad, "rules": everything(&["CREATE"])});
    let (calls, outcome) = sent(matching, create(config_map())).await;
    assert_eq!(calls, 0);
    assert!(
        outcome
            .unwrap_err()
            .starts_with("Internal error occurred: ")
    );
}

#[tokio::test]
async fn a7_the_new_or_the_old_objects_labels_decide() {
    let changes =
        json!({"objectSelector": {"matchLabels": {"app": "web"}}, "rules": everything(&["*"])});
    let with = but(
        config_map(),
        json!({"metadata": {"name": "settings", "namespace": "blue", "labels": {"app": "web"}}}),
    );
    let without = config_map();
    for (new, old, expected) in [
        (&with, &without, true),
        (&without, &with, true),
        (&with, &with, true),
        (&without, &without, false),
    ] {
        let attributes = request(Operation::Update, new.clone(), old.clone());
        assert_eq!(called(changes.clone(), attributes).await, expected);
    }
    assert!(called(changes.clone(), delete(with)).await);
    assert!(!called(changes, delete(without)).await);
}

#[tokio::test]
async fn a7_objects_without_metadata_match_only_the_empty_selector() {
    let attributes = || {
        let mut attributes = create(config_map());
        attributes.operation = Operation::Connect;
        attributes.subresource = "exec".to_owned();
        attributes.object =
            json!({"apiVersion": "v1", "kind": "PodExecOptions", "command": ["sh"]});
        attributes
    };
    let absent = json!([{"key": "app", "operator": "DoesNotExist"}]);
    let changes =
        json!({"objectSelector": {"matchExpressions": absent}, "rules": everything(&["*"])});
    assert!(!called(changes, attributes()).await);
    assert!(called(json!({"rules": everything(&["*"])}), attributes()).await);
}

#[tokio::test]
async fn a5_1_exact_looks_only_at_the_requests_own_resource() {
    let rules = json!([{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["events"]}]);
    let event = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "blue"},
        "note": "it happened",
    });
    assert!(
        !called(
            json!({"rules": rules, "matchPolicy": "Exact"}),
            create(event.clone())
        )
        .await
    );
    assert!(
        called(
            json!({"rules": rules, "matchPolicy": "Equivalent"}),
            create(event)
        )
        .await
    );
}

#[tokio::test]
async fn a5_1_an_equivalent_webhook_is_told_its_own_version_and_the_requests() {
    let hook = Hook::start(allow).await;
    let rules = json!([{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["events"]}]);
    let webhook = but(hook.webhook("one.example.com"), json!({"rules": rules}));
    let setting = Setting::new()
        .mutating("a", [webhook.clone()])
        .validating("a", [webhook]);
    let mut attributes = create(json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "blue"},
        "note": "it happened",
    }));
    setting.mutate(&mut attributes).await.unwrap();
    setting.validate(&attributes).await.unwrap();
    for call in hook.received() {
        let sent = &call.body["request"];
        assert_eq!(
            sent["kind"],
            json!({"group": "", "version": "v1", "kind": "Event"})
        );
        assert_eq!(
            sent["resource"],
            json!({"group": "", "version": "v1", "resource": "events"})
        );
        assert_eq!(
            sent["requestKind"],
            json!({"group": "events.k8s.io", "version": "v1", "kind": "Event"})
        );
        assert_eq!(
            sent["requestResource"],
            json!({"group": "events.k8s.io", "version": "v1", "resource": "events"})
        );
        assert_eq!(sent["object"]["apiVersion"], "v1");
        assert_eq!(sent["object"]["message"], "it happened");
    }
    assert_eq!(hook.calls(), 2);
}

#[tokio::test]
async fn a5_1_a_matching_rule_for_the_requests_own_version_comes_first() {
    let hook = Hook::start(allow).await;
    let rules = json!([
        {"operations": ["*"], "apiGroups": ["autoscaling"], "apiVersions": ["v1"], "resources": ["*"]},
        {"operations": ["*"], "apiGroups": ["autoscaling"], "apiVersions": ["v2"], "resources": ["*"]},
    ]);
    let setting = Setting::new().mutating(
        "a",
        [but(
            hook.webhook("one.example.com"),
            json!({"rules": rules}),
        )],
    );
    let mut attributes = create(json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "blue"},
    }));
    setting.mutate(&mut attributes).await.unwrap();
    assert_eq!(hook.received()[0].body["request"]["kind"]["version"], "v2");
}

#[tokio::test]
async fn a5_subresources_are_matched_by_name() {
    let of = |resources: &[&str]| json!({"rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": resources}]});
    let status = || {
        let mut attributes = request(Operation::Update, config_map(), config_map());
        attributes.subresource = "status".to_owned();
        attributes
    };
    assert!(!called(of(&["configmaps"]), status()).await);
    assert!(called(of(&["configmaps/status"]), status()).await);
    assert!(called(of(&["configmaps/*"]), status()).await);
    assert!(!called(of(&["*"]), status()).await);
}
