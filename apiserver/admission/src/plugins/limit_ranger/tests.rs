//! LimitRanger on objects of its own.

use serde_json::{Value, json};

use crate::Operation;
use crate::tests::setting::{Setting, create, request};

fn pod(containers: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "blue"},
        "spec": {"containers": containers},
    })
}

fn setting(limits: &Value) -> Setting {
    let setting = Setting::new();
    let range =
        json!({"metadata": {"name": "limits", "namespace": "blue"}, "spec": {"limits": limits}});
    setting.objects.put("", "limitranges", range);
    setting
}

async fn refused(setting: &Setting, containers: &Value) -> String {
    let status = setting.validate(&create(pod(containers))).await;
    status.unwrap_err().message().to_owned()
}

#[tokio::test]
async fn a_container_gets_what_it_does_not_specify_and_an_annotation_says_so() {
    let setting = setting(&json!([{
        "type": "Container",
        "default": {"memory": "512Mi", "cpu": "1"},
        "defaultRequest": {"cpu": "500m"},
    }]));
    let containers = json!([
        {"name": "a"},
        {"name": "b", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "3"}}},
    ]);
    let mut attributes = create(pod(&containers));
    setting.mutate(&mut attributes).await.unwrap();
    let spec = &attributes.object["spec"];
    assert_eq!(
        spec["containers"][0]["resources"],
        json!({"requests": {"cpu": "500m"}, "limits": {"cpu": "1", "memory": "512Mi"}})
    );
    assert_eq!(
        attributes.object["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: cpu request for container a; cpu, memory limit for container a; memory limit for container b"
    );
}

#[tokio::test]
async fn limits_of_another_namespace_do_not_count() {
    let setting = Setting::new();
    let range = json!({
        "metadata": {"name": "limits", "namespace": "green"},
        "spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]},
    });
    setting.objects.put("", "limitranges", range);
    setting
        .validate(&create(pod(&json!([{"name": "a"}]))))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_changed_limit_counts_with_the_next_request() {
    let containers = json!([{"name": "a", "resources": {"limits": {"cpu": "2"}}}]);
    let setting = setting(&json!([{"type": "Container", "max": {"cpu": "1"}}]));
    assert_eq!(
        refused(&setting, &containers).await,
        "pods \"web\" is forbidden: maximum cpu usage per Container is 1, but limit is 2"
    );
    let range = json!({
        "metadata": {"name": "limits", "namespace": "blue"},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]},
    });
    setting.objects.put("", "limitranges", range);
    setting.validate(&create(pod(&containers))).await.unwrap();
}

#[tokio::test]
async fn containers_change_by_a_resize_alone() {
    let setting = setting(&json!([{"type": "Container", "min": {"cpu": "1"}}]));
    let object = pod(&json!([{"name": "a"}]));
    let mut update = request(Operation::Update, object.clone(), object);
    setting.validate(&update).await.unwrap();
    update.subresource = "resize".to_owned();
    let status = setting.validate(&update).await.unwrap_err();
    assert_eq!(
        status.message(),
        "pods \"web\" is forbidden: minimum cpu usage per Container is 1.  No request is specified"
    );
    update.old_object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    setting.validate(&update).await.unwrap();
}
