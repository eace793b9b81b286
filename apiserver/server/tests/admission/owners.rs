//! The `managedFields` of new objects: the server adds them to the object only when a webhook or a plugin reads or changes
//! them, but clients and webhooks always see the same.

use serde_json::{Value, json};

use super::hook::{Hook, but, patch};
use super::operations::{shown, watched};
use super::{CONFIG_MAPS, config_map, for_all, start};

const OWNED: &str = "object.metadata.managedFields[0].operation == 'Update'";

fn fields(object: &Value) -> &Value {
    &object["metadata"]["managedFields"][0]["fieldsV1"]
}

#[tokio::test]
async fn webhooks_and_clients_see_who_created_an_object() {
    let (cluster, hook) = watched(&["configmaps"]).await;
    let path = format!("{CONFIG_MAPS}?fieldManager=me");
    let created = cluster.post(&path, &config_map("a")).await.json();
    let owned = json!({"f:data": {".": {}, "f:start": {}}});
    let (mutating, validating) = shown(&hook);
    let stored = cluster.get(&format!("{CONFIG_MAPS}/a")).await.json();
    for object in [
        &mutating[0]["object"],
        &validating[0]["object"],
        &created,
        &stored,
    ] {
        assert_eq!(fields(object), &owned);
        assert_eq!(object["metadata"]["managedFields"][0]["manager"], "me");
        assert_eq!(object["metadata"]["managedFields"][1], Value::Null);
    }
    // Writing the same once more is no change.
    let again = cluster
        .put(&format!("{CONFIG_MAPS}/a?fieldManager=me"), &stored)
        .await
        .json();
    assert_eq!(again, stored);
}

#[tokio::test]
async fn what_a_webhook_changes_besides_leaves_the_owners_alone() {
    let cluster = start();
    let labels = json!([{"op": "add", "path": "/metadata/labels", "value": {"z": "1", "a": "2"}}]);
    let hook = Hook::start(move |call| patch(call, &labels)).await;
    cluster
        .mutating("m", &[hook.webhook("m.example.com")])
        .await;
    let created = cluster.post(CONFIG_MAPS, &config_map("a")).await.json();
    assert_eq!(created["metadata"]["labels"], json!({"a": "2", "z": "1"}));
    assert_eq!(
        fields(&created),
        &json!({"f:data": {".": {}, "f:start": {}}})
    );
}

#[tokio::test]
async fn a_webhook_may_change_and_take_away_the_owners() {
    for (path, operation, left) in [
        (
            "/metadata/managedFields/0/manager",
            json!({"op": "replace", "value": "hook"}),
            json!("hook"),
        ),
        (
            "/metadata/managedFields",
            json!({"op": "remove"}),
            Value::Null,
        ),
        (
            "/metadata",
            json!({"op": "replace", "value": {"name": "a", "namespace": "default"}}),
            Value::Null,
        ),
    ] {
        let cluster = start();
        let operations = json!([but(operation, json!({"path": path}))]);
        let hook = Hook::start(move |call| patch(call, &operations)).await;
        cluster
            .mutating("m", &[hook.webhook("m.example.com")])
            .await;
        let created = cluster.post(CONFIG_MAPS, &config_map("a")).await.json();
        assert_eq!(
            created["metadata"]["managedFields"][0]["manager"], left,
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_webhook_may_test_and_copy_what_the_owners_are() {
    let cluster = start();
    let manager = "/metadata/managedFields/0/manager";
    let operations = json!([
        {"op": "test", "path": "/metadata/managedFields/0/operation", "value": "Update"},
        {"op": "add", "path": "/metadata/labels", "value": {}},
        {"op": "copy", "from": manager, "path": "/metadata/labels/by"},
    ]);
    let hook = Hook::start(move |call| {
        // The first webhook only tests.
        let most = if call.target.starts_with("/tests") {
            1
        } else {
            3
        };
        patch(call, &operations.as_array().unwrap()[..most].into())
    })
    .await;
    let webhooks = ["tests", "copies"]
        .map(|name| hook.webhook_at(&format!("{name}.example.com"), &format!("/{name}")));
    cluster.mutating("m", &webhooks).await;
    let path = format!("{CONFIG_MAPS}?fieldManager=me");
    let created = cluster.post(&path, &config_map("a")).await;
    assert_eq!(created.code, 201, "{created:?}");
    assert_eq!(created.json()["metadata"]["labels"], json!({"by": "me"}));
}

#[tokio::test]
async fn conditions_read_the_owners_of_a_new_object() {
    let (cluster, hook) = (start(), Hook::start(super::hook::allow).await);
    for (name, holds) in [("reads", true), ("other", false)] {
        let not = if holds { "" } else { "!" };
        let conditions = json!([{"name": "owned", "expression": format!("{not}({OWNED})")}]);
        let called = |verb: &str| {
            let webhook =
                hook.webhook_at(&format!("{name}.example.com"), &format!("/{verb}/{name}"));
            but(
                for_all(webhook, &["configmaps"]),
                json!({"matchConditions": conditions}),
            )
        };
        cluster.mutating(name, &[called("mutate")]).await;
        cluster.validating(name, &[called("validate")]).await;
    }
    assert_eq!(cluster.post(CONFIG_MAPS, &config_map("a")).await.code, 201);
    let targets: Vec<_> = hook
        .received()
        .into_iter()
        .map(|call| call.target)
        .collect();
    assert_eq!(targets.len(), 2, "{targets:?}");
    assert!(
        targets.iter().all(|target| target.contains("reads")),
        "{targets:?}"
    );
}

#[tokio::test]
async fn a_webhook_of_another_version_sees_the_owners() {
    let (cluster, hook) = (start(), Hook::start(super::hook::allow).await);
    let rules = json!([{
        "operations": ["CREATE"], "apiGroups": ["autoscaling"], "apiVersions": ["v1"], "resources": ["horizontalpodautoscalers"]
    }]);
    let webhook = but(
        hook.webhook_at("m.example.com", "/mutate"),
        json!({"rules": rules}),
    );
    let webhooks = std::slice::from_ref(&webhook);
    cluster.mutating("m", webhooks).await;
    cluster
        .validating("v", &[but(webhook, json!({"name": "v.example.com"}))])
        .await;
    let scaler = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}}
    });
    let path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
    let created = cluster.post(path, &scaler).await;
    assert_eq!(created.code, 201, "{created:?}");
    let calls = hook.received();
    assert_eq!(calls.len(), 2);
    for call in &calls {
        let object = &call.body["request"]["object"];
        assert_eq!(object["apiVersion"], "autoscaling/v1");
        assert_eq!(fields(object)["f:spec"]["f:maxReplicas"], json!({}));
    }
    assert_eq!(
        fields(&created.json())["f:spec"]["f:maxReplicas"],
        json!({})
    );
}

#[tokio::test]
async fn an_object_that_is_not_stored_has_owners_too() {
    let cluster = start();
    let dry = cluster
        .post(&format!("{CONFIG_MAPS}?dryRun=All"), &config_map("a"))
        .await
        .json();
    assert_eq!(fields(&dry), &json!({"f:data": {".": {}, "f:start": {}}}));
    let mut forgotten = config_map("b");
    forgotten["metadata"]["managedFields"] = json!([]);
    let created = cluster.post(CONFIG_MAPS, &forgotten).await.json();
    assert_eq!(
        fields(&created),
        &json!({"f:data": {".": {}, "f:start": {}}})
    );
}
