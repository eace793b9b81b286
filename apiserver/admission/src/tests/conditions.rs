//! A.8: match conditions.

use serde_json::{Value, json};

use super::hook::{Hook, allow, but};
use super::setting::{Setting, config_map, create, delete, request};
use crate::{Attributes, Operation};

const NAME: &str = "one.example.com";

/// Sends the request to a webhook with these conditions: the number of calls, and the refusal.
async fn sent(
    policy: &str,
    expressions: &[&str],
    mut attributes: Attributes,
) -> (usize, Option<(u16, String)>) {
    let hook = Hook::start(allow).await;
    let conditions: Vec<Value> = expressions
        .iter()
        .enumerate()
        .map(|(n, expression)| json!({"name": format!("c{n}"), "expression": expression}))
        .collect();
    let rules = json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]);
    let changes = json!({"matchConditions": conditions, "rules": rules, "failurePolicy": policy});
    let webhook = but(hook.webhook(NAME), changes);
    let setting = Setting::new()
        .mutating("a", [webhook.clone()])
        .validating("a", [webhook]);
    let validated = setting.validate(&attributes).await;
    let mutated = setting.mutate(&mut attributes).await;
    assert_eq!(mutated, validated);
    assert_eq!(hook.calls() % 2, 0);
    let refused = mutated
        .err()
        .map(|status| (status.code(), status.message().to_owned()));
    (hook.calls() / 2, refused)
}

async fn called(expression: &str, attributes: Attributes) -> bool {
    let (calls, refused) = sent("Fail", &[expression], attributes).await;
    assert_eq!(refused, None, "{expression}");
    calls == 1
}

#[tokio::test]
async fn a8_all_conditions_must_be_true() {
    assert_eq!(
        sent("Fail", &["true", "1 < 2"], create(config_map())).await,
        (1, None)
    );
    assert_eq!(
        sent("Fail", &["true", "false"], create(config_map())).await,
        (0, None)
    );
}

#[tokio::test]
async fn a8_the_objects_are_variables_and_null_where_absent() {
    assert!(
        called(
            "object.data.start == 'here' && oldObject == null",
            create(config_map())
        )
        .await
    );
    assert!(
        called(
            "object == null && oldObject.metadata.name == 'settings'",
            delete(config_map())
        )
        .await
    );
    let old = but(config_map(), json!({"data": {"start": "there"}}));
    let update = request(Operation::Update, config_map(), old);
    assert!(called("object.data.start != oldObject.data.start", update).await);
}

#[tokio::test]
async fn a8_the_request_is_a_variable() {
    for expression in [
        "request.kind.kind == 'ConfigMap' && request.kind.version == 'v1' && request.kind.group == ''",
        "request.resource.resource == 'configmaps'",
        "request.requestKind.kind == 'ConfigMap'",
        "request.requestResource.resource == 'configmaps'",
        "request.name == 'settings' && request.namespace == 'blue'",
        "request.operation == 'CREATE'",
        "request.userInfo.username == 'kubernetes-admin'",
        "'system:masters' in request.userInfo.groups",
        "!request.dryRun",
        "request.options.kind == 'CreateOptions'",
        "!has(request.subResource)",
        "authorizer.group('').resource('configmaps').namespace('blue').check('create').allowed()",
        "authorizer.requestResource.check('create').allowed()",
    ] {
        assert!(
            called(expression, create(config_map())).await,
            "{expression}"
        );
    }
    let mut status = request(Operation::Update, config_map(), config_map());
    status.subresource = "status".to_owned();
    assert!(
        called(
            "request.subResource == 'status' && request.requestSubResource == 'status'",
            status
        )
        .await
    );
}

#[tokio::test]
async fn a8_conditions_look_at_the_object_in_the_version_of_the_webhook() {
    let hook = Hook::start(allow).await;
    let rules = json!([{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["events"]}]);
    let conditions =
        json!([{"name": "c", "expression": "object.message == 'x' && object.apiVersion == 'v1'"}]);
    let webhook = but(
        hook.webhook(NAME),
        json!({"rules": rules, "matchConditions": conditions}),
    );
    let mut attributes = create(json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "blue"},
        "note": "x",
    }));
    Setting::new()
        .mutating("a", [webhook])
        .mutate(&mut attributes)
        .await
        .unwrap();
    assert_eq!(hook.calls(), 1);
}

#[tokio::test]
async fn a8_an_error_refuses_the_request_or_skips_the_webhook_by_its_policy() {
    let expression = "object.missing == 'x'";
    let why = "configmaps \"settings\" is forbidden: expression 'object.missing == 'x'' resulted in error: no such key: missing";
    let refused = Some((403, why.to_owned()));
    assert_eq!(
        sent("Fail", &[expression], create(config_map())).await,
        (0, refused)
    );
    assert_eq!(
        sent("Ignore", &[expression], create(config_map())).await,
        (0, None)
    );
}

#[tokio::test]
async fn a8_a_false_condition_outweighs_errors_before_it() {
    assert_eq!(
        sent("Fail", &["object.missing", "false"], create(config_map())).await,
        (0, None)
    );
}

#[tokio::test]
async fn a8_several_errors_are_shown_together_and_repeated_ones_once() {
    let expressions = ["object.a == 1", "true", "object.b == 1", "object.a == 1"];
    let (_, refused) = sent("Fail", &expressions, create(config_map())).await;
    assert_eq!(
        refused.unwrap().1,
        "configmaps \"settings\" is forbidden: [expression 'object.a == 1' resulted in error: no such key: a, expression 'object.b == 1' resulted in error: no such key: b]"
    );
}

#[tokio::test]
async fn a8_correction_10_a_request_without_a_name_is_refused_without_one() {
    let mut attributes = create(config_map());
    attributes.name = String::new();
    let (_, refused) = sent("Fail", &["object.a == 1"], attributes).await;
    assert_eq!(
        refused.unwrap().1,
        "configmaps is forbidden: expression 'object.a == 1' resulted in error: no such key: a"
    );
}

#[tokio::test]
async fn a8_what_does_not_compile_is_an_error_of_its_own() {
    let (_, refused) = sent("Fail", &["1 + 1"], create(config_map())).await;
    assert_eq!(
        refused.unwrap().1,
        "configmaps \"settings\" is forbidden: compilation error: must evaluate to bool but got int"
    );
    let (_, refused) = sent("Fail", &["object.("], create(config_map())).await;
    let start = "configmaps \"settings\" is forbidden: compilation error: compilation failed: ERROR: <input>:1:";
    assert!(refused.unwrap().1.starts_with(start));
    assert_eq!(
        sent("Ignore", &["1 + 1"], create(config_map())).await,
        (0, None)
    );
}

#[tokio::test]
async fn a8_an_expression_and_all_of_them_have_a_budget() {
    let list = format!("[{}]", vec!["1"; 100].join(","));
    let costly = format!("{list}.all(a, {list}.all(b, {list}.all(c, a + b + c > 0)))");
    let (_, refused) = sent("Fail", &[&costly], create(config_map())).await;
    let why = refused.unwrap().1;
    assert!(
        why.ends_with("resulted in error: operation cancelled: actual cost limit exceeded"),
        "{why}"
    );
    let medium = format!("{list}.all(a, {list}.all(b, a + b > 0))");
    let many = vec![medium.as_str(); 64];
    let (calls, refused) = sent("Fail", &many, create(config_map())).await;
    assert_eq!(calls, 0);
    assert_eq!(
        refused.unwrap().1,
        "configmaps \"settings\" is forbidden: validation failed due to running out of cost budget, no further validation rules will be run"
    );
}

#[tokio::test]
async fn a8_conditions_come_after_rules_and_selectors() {
    let hook = Hook::start(allow).await;
    let conditions = json!([{"name": "c", "expression": "object.missing"}]);
    let webhook = but(
        hook.webhook(NAME),
        json!({"matchConditions": conditions, "objectSelector": {"matchLabels": {"a": "b"}}}),
    );
    Setting::new()
        .mutating("a", [webhook])
        .create()
        .await
        .unwrap();
}
