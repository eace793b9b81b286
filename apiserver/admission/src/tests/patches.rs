//! A.12: what a patch does to the object, and how the result is decoded and defaulted.

use serde_json::{Value, json};

use super::hook::{Hook, but, patch};
use super::setting::{Setting, config_map, create};

async fn patched(object: Value, operations: Value) -> Result<Value, String> {
    let hook = Hook::start(move |call| patch(call, &operations)).await;
    let rules = json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}]);
    let setting = Setting::new().mutating(
        "a",
        [but(
            hook.webhook("one.example.com"),
            json!({"rules": rules}),
        )],
    );
    let mut attributes = create(object);
    let outcome = setting.mutate(&mut attributes).await;
    outcome
        .map(|()| attributes.object)
        .map_err(|status| status.message().to_owned())
}

async fn refused(operations: Value) -> String {
    let message = patched(config_map(), operations).await.unwrap_err();
    message
        .strip_prefix("Internal error occurred: ")
        .unwrap()
        .to_owned()
}

fn pod() -> Value {
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "blue"},
        "spec": {"containers": [{"name": "web", "image": "nginx:1.14.2"}]},
    });
    create(pod.clone()).resource.default(&mut pod);
    pod
}

#[tokio::test]
async fn a12_replace_of_a_missing_key_adds_it() {
    let object = patched(
        config_map(),
        json!([{"op": "replace", "path": "/data/new", "value": "x"}]),
    )
    .await
    .unwrap();
    assert_eq!(object["data"], json!({"start": "here", "new": "x"}));
}

#[tokio::test]
async fn a12_adding_below_a_missing_parent_is_the_classic_failure() {
    assert_eq!(
        refused(json!([{"op": "add", "path": "/metadata/labels/a", "value": "b"}])).await,
        "add operation does not apply: doc is missing path: \"/metadata/labels/a\": missing value"
    );
}

#[tokio::test]
async fn a12_removing_what_is_not_there_fails() {
    assert_eq!(
        refused(json!([{"op": "remove", "path": "/data/b"}])).await,
        "error in remove for path: '/data/b': Unable to remove nonexistent key: b: missing value"
    );
    assert_eq!(
        refused(json!([{"op": "remove", "path": "/metadata/labels/b"}])).await,
        "remove operation does not apply: doc is missing path: \"/metadata/labels/b\": missing value"
    );
}

#[tokio::test]
async fn a12_a_failing_test_fails_the_patch() {
    assert_eq!(
        refused(json!([{"op": "test", "path": "/data/start", "value": "there"}])).await,
        "testing value /data/start failed: test failed"
    );
    patched(
        config_map(),
        json!([{"op": "test", "path": "/data/none", "value": null}]),
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn a12_an_unknown_operation_is_named() {
    assert_eq!(
        refused(json!([{"op": "spam", "path": "/data"}])).await,
        "Unexpected kind: spam"
    );
}

#[tokio::test]
async fn a12_negative_indices_count_from_the_end_and_a_dash_appends() {
    let object = but(
        pod(),
        json!({"metadata": {"name": "web", "namespace": "blue", "finalizers": ["x.io/a", "x.io/b"]}}),
    );
    let object = patched(
        object,
        json!([
            {"op": "add", "path": "/metadata/finalizers/-", "value": "x.io/c"},
            {"op": "replace", "path": "/metadata/finalizers/-1", "value": "x.io/last"},
            {"op": "add", "path": "/metadata/finalizers/3", "value": "x.io/length"},
        ]),
    )
    .await
    .unwrap();
    assert_eq!(
        object["metadata"]["finalizers"],
        json!(["x.io/a", "x.io/b", "x.io/last", "x.io/length"])
    );
}

#[tokio::test]
async fn a12_an_empty_patch_changes_nothing_even_on_delete() {
    let hook = Hook::start(|call| patch(call, &json!([]))).await;
    let rules = json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}]);
    let setting = Setting::new().mutating(
        "a",
        [but(
            hook.webhook("one.example.com"),
            json!({"rules": rules}),
        )],
    );
    setting
        .mutate(&mut super::setting::delete(config_map()))
        .await
        .unwrap();
    assert_eq!(setting.create().await.unwrap(), config_map());
    let null = Hook::start(|call| patch(call, &Value::Null)).await;
    let setting = Setting::new().mutating("a", [null.webhook("one.example.com")]);
    assert_eq!(setting.create().await.unwrap(), config_map());
}

#[tokio::test]
async fn a12_unknown_fields_of_the_result_are_dropped() {
    let object = patched(
        pod(),
        json!([
            {"op": "add", "path": "/spec/unknown", "value": 1},
            {"op": "add", "path": "/spec/containers/0/unknown", "value": 1},
            {"op": "add", "path": "/metadata/annotations", "value": {"kept": "yes"}},
        ]),
    )
    .await
    .unwrap();
    assert_eq!(object["spec"].get("unknown"), None);
    assert_eq!(object["spec"]["containers"][0].get("unknown"), None);
    assert_eq!(object["metadata"]["annotations"]["kept"], "yes");
}

#[tokio::test]
async fn a12_a_removed_default_comes_back() {
    let object = patched(
        pod(),
        json!([
            {"op": "remove", "path": "/spec/dnsPolicy"},
            {"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "side"}},
        ]),
    )
    .await
    .unwrap();
    assert_eq!(object["spec"]["dnsPolicy"], "ClusterFirst");
    assert_eq!(object["spec"]["containers"][1]["imagePullPolicy"], "Always");
}

#[tokio::test]
async fn a12_a_result_of_the_wrong_type_fails_the_request() {
    let message = patched(
        pod(),
        json!([{"op": "replace", "path": "/spec/containers", "value": "none"}]),
    )
    .await
    .unwrap_err();
    assert_eq!(
        message,
        "Internal error occurred: json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container"
    );
}

#[tokio::test]
async fn a12_the_patch_is_applied_in_the_version_the_webhook_was_called_with() {
    let hook = Hook::start(|call| {
        assert_eq!(
            call.body["request"]["object"]["apiVersion"],
            "autoscaling/v1"
        );
        patch(
            call,
            &json!([{"op": "add", "path": "/spec/targetCPUUtilizationPercentage", "value": 77}]),
        )
    })
    .await;
    let rules = json!([{"operations": ["*"], "apiGroups": ["autoscaling"], "apiVersions": ["v1"], "resources": ["*"]}]);
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
        "spec": {"maxReplicas": 3, "minReplicas": 1, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    }));
    setting.mutate(&mut attributes).await.unwrap();
    let sent = &hook.received()[0].body["request"];
    assert_eq!(
        sent["kind"],
        json!({"group": "autoscaling", "version": "v1", "kind": "HorizontalPodAutoscaler"})
    );
    assert_eq!(sent["requestKind"]["version"], "v2");
    assert_eq!(attributes.object["apiVersion"], "autoscaling/v2");
    assert_eq!(
        attributes.object["spec"]["metrics"],
        json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 77}}}])
    );
}

#[tokio::test]
async fn a12_a_patch_may_not_make_another_kind_of_the_object() {
    assert_eq!(
        patched(
            config_map(),
            json!([{"op": "replace", "path": "/kind", "value": "Secret"}])
        )
        .await,
        Err("converting (v1.Secret) to (core.ConfigMap): unknown conversion".to_owned())
    );
    let object = patched(config_map(), json!([{"op": "remove", "path": "/kind"}]))
        .await
        .unwrap();
    assert_eq!(object["kind"], "ConfigMap");
}
