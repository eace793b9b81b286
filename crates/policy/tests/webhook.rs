//! The webhook of a policy answers reviews.

use http_body_util::{BodyExt as _, Full};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kubewright_policy::{Policy, Reason};
use kubewright_webhook::{FailurePolicy, Part, Role, Webhooks};
use serde_json::{Value, json};
use tower::ServiceExt as _;

fn served(policy: impl Into<Part>) -> Webhooks {
    Webhooks::new("example.com")
        .with(policy)
        .for_kubernetes("1.20".parse().unwrap())
}

async fn ask(webhooks: Webhooks, operation: &str, object: Value, old: Value) -> (u16, Value) {
    let path = webhooks.declarations()[0].path.clone();
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "1", "operation": operation, "name": "web", "namespace": "blue",
            "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "resource": {"group": "", "version": "v1", "resource": "configmaps"},
            "userInfo": {"username": "ann", "groups": ["developers"]},
            "object": object, "oldObject": old,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        },
    });
    let body = Full::<bytes::Bytes>::from(review.to_string());
    let call = http::Request::post(path)
        .header("content-type", "application/json")
        .body(body)
        .unwrap();
    let answer = webhooks.oneshot(call).await.unwrap();
    let code = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap())
}

async fn created(policy: impl Into<Part>, data: Value) -> Value {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"name": "web", "managedFields": [{"manager": "kubectl"}]},
    });
    let (code, review) = ask(served(policy), "CREATE", object, Value::Null).await;
    assert_eq!(code, 200, "{review}");
    review["response"].clone()
}

fn sizes() -> Policy<ConfigMap> {
    Policy::validating("sizes").rule("object.data.size() < 2", "have one key")
}

#[tokio::test]
async fn a_rule_that_does_not_hold_denies_with_its_message_and_code() {
    let allowed = created(sizes(), json!({"a": ""})).await;
    assert_eq!(allowed["allowed"], true);
    let two = json!({"a": "", "b": ""});
    let denied = created(sizes().reason(Reason::Forbidden), two.clone()).await;
    assert_eq!(denied["allowed"], false);
    assert_eq!(denied["status"]["message"], "have one key");
    assert_eq!(
        (&denied["status"]["code"], &denied["status"]["reason"]),
        (&json!(403), &json!("Forbidden"))
    );
    let denied = created(sizes(), two).await;
    assert_eq!(denied["status"]["code"], 422);
}

#[tokio::test]
async fn the_request_is_that_of_the_review() {
    let request = || {
        Policy::<ConfigMap>::validating("requests").rule(
            "request.userInfo.username == 'ann' && 'developers' in request.userInfo.groups && !has(request.subResource)
             && request.namespace == 'blue' && request.kind.kind == 'ConfigMap' && request.options.kind == 'CreateOptions'
             && oldObject == null && object.metadata.managedFields[0].manager == 'kubectl'",
            "another request",
        )
    };
    assert_eq!(created(request(), json!({})).await["status"], Value::Null);
}

#[tokio::test]
async fn a_deletion_has_an_old_object_alone() {
    let policy = || {
        Policy::<ConfigMap>::validating("deletions")
            .rule("object == null && oldObject.data.a == 'x'", "keep it")
    };
    let old = |a: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": a}});
    let (_, allowed) = ask(served(policy()), "DELETE", Value::Null, old("x")).await;
    assert_eq!(allowed["response"]["allowed"], true, "{allowed}");
    let (_, denied) = ask(served(policy()), "DELETE", Value::Null, old("y")).await;
    assert_eq!(denied["response"]["status"]["message"], "keep it");
}

#[tokio::test]
async fn warnings_and_audit_annotations_are_part_of_the_answer() {
    let policy = sizes()
        .warn()
        .audit()
        .audit_annotation("keys", "string(object.data.size())");
    let answer = created(policy, json!({"a": "", "b": ""})).await;
    assert_eq!(answer["allowed"], true);
    assert_eq!(answer["warnings"], json!(["have one key"]));
    let annotations = &answer["auditAnnotations"];
    assert_eq!(annotations["keys"], "2");
    let failures: Value =
        serde_json::from_str(annotations["validation_failure"].as_str().unwrap()).unwrap();
    assert_eq!(failures[0]["message"], "have one key");
    assert_eq!(failures[0]["expressionIndex"], 0);
    assert_eq!(failures[0]["validationActions"], json!(["Warn", "Audit"]));
}

#[tokio::test]
async fn what_cannot_be_evaluated_is_subject_to_the_failure_policy() {
    let policy = || Policy::<ConfigMap>::validating("types").rule("object.type == 'a'", "no");
    let denied = created(policy(), json!({})).await;
    assert_eq!(
        denied["status"]["message"],
        "expression 'object.type == 'a'' resulted in error: no such key: type"
    );
    let open = policy().failure_policy(FailurePolicy::Ignore);
    assert_eq!(created(open, json!({})).await["allowed"], true);
}

#[tokio::test]
async fn a_mutation_is_a_minimal_patch() {
    use base64::Engine as _;

    let policy = Policy::<ConfigMap>::mutating("defaults")
        .apply("Object{data: {'b': 'two'}}")
        .patch("[JSONPatch{op: 'replace', path: '/data/a', value: object.data.b}]");
    assert_eq!(
        served(Policy::<Pod>::mutating("a").apply("Object{}")).declarations()[0].role,
        Role::Mutating
    );
    let answer = created(policy, json!({"a": "one"})).await;
    let patch = answer["patch"].as_str().unwrap();
    let patch = base64::engine::general_purpose::STANDARD
        .decode(patch)
        .unwrap();
    let mut patch: Vec<Value> = serde_json::from_slice(&patch).unwrap();
    patch.sort_by_key(|operation| operation["path"].as_str().unwrap().to_owned());
    assert_eq!(
        json!(patch),
        json!([
            {"op": "replace", "path": "/data/a", "value": "two"},
            {"op": "add", "path": "/data/b", "value": "two"},
        ])
    );
}

#[tokio::test]
async fn a_mutation_that_fails_denies() {
    let policy = Policy::<ConfigMap>::mutating("defaults")
        .patch("[JSONPatch{op: 'remove', path: '/data/missing'}]");
    let denied = created(policy, json!({})).await;
    assert_eq!(denied["status"]["code"], 403);
    assert!(
        denied["status"]["message"]
            .as_str()
            .unwrap()
            .starts_with("JSON Patch: ")
    );
}

#[tokio::test]
async fn an_object_of_another_kind_is_no_object_of_the_policy() {
    let policy = Policy::<Pod>::validating("pods").rule("true", "");
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let (code, _) = ask(served(policy), "CREATE", object, Value::Null).await;
    assert_eq!(code, 422);
}

#[tokio::test]
async fn a_shadow_notes_what_it_would_deny_and_allows() {
    let two = json!({"a": "", "b": ""});
    let allowed = created(sizes().shadow(), two).await;
    assert_eq!(allowed["allowed"], true);
    assert_eq!(
        allowed["auditAnnotations"]["shadow"],
        "denied: have one key"
    );
}

#[tokio::test]
async fn a_shadow_of_changes_is_a_webhook_and_changes_nothing() {
    let policy = Policy::<ConfigMap>::mutating("owner")
        .apply("Object{metadata: Object.metadata{labels: {'owner': 'ann'}}}")
        .shadow();
    let webhooks = Webhooks::new("example.com").with(policy);
    assert_eq!(webhooks.check(), Ok(()));
    assert!(webhooks.policies().is_empty());
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}});
    let (code, review) = ask(webhooks, "CREATE", object, Value::Null).await;
    assert_eq!(code, 200, "{review}");
    let answer = &review["response"];
    assert_eq!(answer["allowed"], true);
    assert_eq!(answer["patch"], Value::Null);
    let noted = answer["auditAnnotations"]["shadow"].as_str().unwrap();
    assert!(noted.starts_with("changed"), "{noted}");
}
