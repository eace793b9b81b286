//! A.15: the review that is sent, field by field.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::hook::{Hook, Received, allow, but};
use super::setting::{Setting, config_map, create, delete, namespace};
use crate::{Attributes, Operation};

async fn sent(attributes: &Attributes) -> Received {
    let hook = Hook::start(allow).await;
    let rules = json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]);
    let setting = Setting::new().validating(
        "a",
        [but(
            hook.webhook("one.example.com"),
            json!({"rules": rules}),
        )],
    );
    setting.validate(attributes).await.unwrap();
    hook.received().remove(0)
}

#[tokio::test]
async fn a15_a_create_has_every_field() {
    let mut review = sent(&create(config_map())).await.body;
    let uid = review["request"]["uid"].take();
    assert_eq!(
        uid.as_str()
            .unwrap()
            .parse::<uuid::Uuid>()
            .unwrap()
            .get_version_num(),
        4
    );
    assert_eq!(
        review,
        json!({
            "kind": "AdmissionReview",
            "apiVersion": "admission.k8s.io/v1",
            "request": {
                "uid": null,
                "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
                "resource": {"group": "", "version": "v1", "resource": "configmaps"},
                "requestKind": {"group": "", "version": "v1", "kind": "ConfigMap"},
                "requestResource": {"group": "", "version": "v1", "resource": "configmaps"},
                "name": "settings",
                "namespace": "blue",
                "operation": "CREATE",
                "userInfo": {
                    "username": "kubernetes-admin",
                    "groups": ["system:masters", "system:authenticated"],
                },
                "object": config_map(),
                "oldObject": null,
                "dryRun": false,
                "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
            },
        })
    );
}

#[tokio::test]
async fn a15_the_review_begins_with_its_kind_and_ends_with_a_newline() {
    let raw = sent(&create(config_map())).await.raw;
    assert!(raw.starts_with(
        br#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":""#
    ));
    assert!(raw.ends_with(b"}}\n"));
}

#[tokio::test]
async fn a15_a_delete_has_only_the_old_object() {
    let request = sent(&delete(config_map())).await.body["request"].take();
    assert_eq!(
        (&request["object"], &request["oldObject"]),
        (&Value::Null, &config_map())
    );
    assert!(request.as_object().unwrap().contains_key("object"));
    assert_eq!(request["operation"], "DELETE");
    assert_eq!(request["options"]["kind"], "DeleteOptions");
}

#[tokio::test]
async fn a15_an_empty_name_is_left_out() {
    let mut attributes = create(config_map());
    attributes.name = String::new();
    let request = sent(&attributes).await.body["request"].take();
    assert_eq!(request.get("name"), None);
}

#[tokio::test]
async fn a15_cluster_scoped_requests_have_no_namespace() {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}});
    let request = sent(&create(node)).await.body["request"].take();
    assert_eq!(request.get("namespace"), None);
}

#[tokio::test]
async fn a2_8_a_namespace_is_its_own_namespace() {
    let request = sent(&create(namespace("green", &json!({})))).await.body["request"].take();
    assert_eq!(
        (&request["namespace"], &request["name"]),
        (&json!("green"), &json!("green"))
    );
}

#[tokio::test]
async fn a15_a_subresource_is_named_twice() {
    let mut attributes = create(config_map());
    attributes.subresource = "status".to_owned();
    let request = sent(&attributes).await.body["request"].take();
    assert_eq!(
        (&request["subResource"], &request["requestSubResource"]),
        (&json!("status"), &json!("status"))
    );
}

#[tokio::test]
async fn a15_a_connect_has_no_options() {
    let mut attributes = create(
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "blue"}}),
    );
    attributes.operation = Operation::Connect;
    attributes.subresource = "exec".to_owned();
    attributes.kind.kind = "PodExecOptions".to_owned();
    attributes.object = json!({"apiVersion": "v1", "kind": "PodExecOptions", "command": ["sh"]});
    attributes.options = Value::Null;
    let request = sent(&attributes).await.body["request"].take();
    assert_eq!(request["kind"]["kind"], "PodExecOptions");
    assert_eq!(request["resource"]["resource"], "pods");
    assert_eq!(
        (&request["options"], &request["oldObject"]),
        (&Value::Null, &Value::Null)
    );
    assert!(request.as_object().unwrap().contains_key("options"));
}

#[tokio::test]
async fn a15_the_user_is_shown_with_what_there_is() {
    let mut attributes = create(config_map());
    attributes.user.uid = "u-1".to_owned();
    attributes.user.extra =
        BTreeMap::from([("scopes".to_owned(), vec!["a".to_owned(), "b".to_owned()])]);
    let user = sent(&attributes).await.body["request"]["userInfo"].take();
    assert_eq!(
        user,
        json!({
            "username": "kubernetes-admin",
            "uid": "u-1",
            "groups": ["system:masters", "system:authenticated"],
            "extra": {"scopes": ["a", "b"]},
        })
    );
    let mut attributes = create(config_map());
    attributes.user = kubewright_apimachinery::user::User::default();
    assert_eq!(
        sent(&attributes).await.body["request"]["userInfo"],
        json!({})
    );
}

#[tokio::test]
async fn a15_every_call_has_a_uid_of_its_own() {
    let hook = Hook::start(allow).await;
    let setting = Setting::new().mutating(
        "a",
        [
            hook.webhook("one.example.com"),
            hook.webhook("two.example.com"),
        ],
    );
    setting.create().await.unwrap();
    let uids: Vec<Value> = hook
        .received()
        .iter()
        .map(|call| call.body["request"]["uid"].clone())
        .collect();
    assert_ne!(uids[0], uids[1]);
}

#[tokio::test]
async fn a10_a_dry_run_is_announced() {
    let mut attributes = create(config_map());
    attributes.dry_run = true;
    assert_eq!(sent(&attributes).await.body["request"]["dryRun"], true);
}
