//! A.2: what each kind of request shows to webhooks, and when.

use serde_json::{Value, json};

use super::hook::{Hook, Received, allow, patch};
use super::{CONFIG_MAPS, config_map, for_all, start};
use crate::cluster::Cluster;

/// A server whose every request about these resources is shown to a mutating and a validating webhook.
pub(super) async fn watched(resources: &[&str]) -> (Cluster, Hook) {
    let (cluster, hook) = (start(), Hook::start(allow).await);
    let mutating = for_all(hook.webhook_at("m.example.com", "/mutate"), resources);
    let validating = for_all(hook.webhook_at("v.example.com", "/validate"), resources);
    cluster.mutating("watch", &[mutating]).await;
    cluster.validating("watch", &[validating]).await;
    (cluster, hook)
}

/// The requests shown to the mutating and to the validating webhook.
pub(super) fn shown(hook: &Hook) -> (Vec<Value>, Vec<Value>) {
    let (mutating, validating): (Vec<Received>, Vec<Received>) = hook
        .received()
        .into_iter()
        .partition(|call| call.target.starts_with("/mutate"));
    let requests = |calls: Vec<Received>| {
        calls
            .into_iter()
            .map(|mut call| call.body["request"].take())
            .collect()
    };
    (requests(mutating), requests(validating))
}

#[tokio::test]
async fn a2_1_uid_and_creation_time_come_between_mutating_and_validating() {
    let (cluster, hook) = watched(&["configmaps"]).await;
    assert_eq!(cluster.post(CONFIG_MAPS, &config_map("a")).await.code, 201);
    let (mutating, validating) = shown(&hook);
    assert_eq!((mutating.len(), validating.len()), (1, 1));
    let metadata = |request: &Value| request["object"]["metadata"].clone();
    assert_eq!(metadata(&mutating[0]).get("uid"), None);
    assert_eq!(metadata(&mutating[0]).get("creationTimestamp"), None);
    assert!(metadata(&validating[0])["uid"].is_string());
    assert!(metadata(&validating[0])["creationTimestamp"].is_string());
    assert_eq!(mutating[0]["options"]["kind"], "CreateOptions");
}

#[tokio::test]
async fn a2_1_correction_6_a_generated_name_is_shown_to_validating_webhooks() {
    let (cluster, hook) = watched(&["configmaps"]).await;
    let mut object = config_map("x");
    object["metadata"] = json!({"generateName": "made-"});
    let answer = cluster.post(CONFIG_MAPS, &object).await;
    assert_eq!(answer.code, 201);
    let (mutating, validating) = shown(&hook);
    assert_eq!(mutating[0].get("name"), None);
    assert_eq!(mutating[0]["object"]["metadata"].get("name"), None);
    let name = answer.json()["metadata"]["name"].clone();
    assert!(name.as_str().unwrap().starts_with("made-"));
    assert_eq!(validating[0]["name"], name);
    assert_eq!(validating[0]["object"]["metadata"]["name"], name);
}

#[tokio::test]
async fn a2_2_a_put_shows_both_objects() {
    let (cluster, hook) = watched(&["configmaps"]).await;
    let stored = cluster.post(CONFIG_MAPS, &config_map("a")).await.json();
    let mut new = config_map("a");
    new["data"] = json!({"start": "there"});
    assert_eq!(
        cluster.put(&format!("{CONFIG_MAPS}/a"), &new).await.code,
        200
    );
    let (mutating, validating) = shown(&hook);
    for request in [&mutating[1], &validating[1]] {
        assert_eq!(request["operation"], "UPDATE");
        assert_eq!(request["object"]["data"], json!({"start": "there"}));
        assert_eq!(request["oldObject"]["data"], json!({"start": "here"}));
        assert_eq!(
            request["oldObject"]["metadata"]["uid"],
            stored["metadata"]["uid"]
        );
        assert_eq!(request["options"]["kind"], "UpdateOptions");
    }
}

#[tokio::test]
async fn a2_3_a_patch_is_an_update_with_the_whole_object() {
    let (cluster, hook) = watched(&["configmaps"]).await;
    cluster.post(CONFIG_MAPS, &config_map("a")).await.ok();
    let merge = json!({"data": {"more": "x"}});
    cluster
        .patch("merge", &format!("{CONFIG_MAPS}/a?fieldManager=me"), &merge)
        .await
        .ok();
    let (mutating, _) = shown(&hook);
    assert_eq!(mutating[1]["operation"], "UPDATE");
    assert_eq!(
        mutating[1]["object"]["data"],
        json!({"start": "here", "more": "x"})
    );
    assert_eq!(mutating[1]["options"]["kind"], "UpdateOptions");
    assert_eq!(mutating[1]["options"]["fieldManager"], "me");
}

#[tokio::test]
async fn a2_4_a_delete_shows_the_stored_object_once() {
    let (cluster, hook) = watched(&["configmaps"]).await;
    cluster.post(CONFIG_MAPS, &config_map("a")).await.ok();
    let options =
        json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"});
    cluster
        .delete_with(&format!("{CONFIG_MAPS}/a"), &options)
        .await
        .ok();
    let (mutating, validating) = shown(&hook);
    assert_eq!((mutating.len(), validating.len()), (2, 2));
    for request in [&mutating[1], &validating[1]] {
        assert_eq!(
            (&request["operation"], &request["name"]),
            (&json!("DELETE"), &json!("a"))
        );
        assert_eq!(request["object"], Value::Null);
        assert_eq!(request["oldObject"]["data"], json!({"start": "here"}));
        assert_eq!(
            request["options"],
            json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "propagationPolicy": "Background"})
        );
    }
}

#[tokio::test]
async fn a2_5_a_collection_is_deleted_object_by_object_without_names() {
    let (cluster, hook) = watched(&["configmaps"]).await;
    for name in ["a", "b"] {
        cluster.post(CONFIG_MAPS, &config_map(name)).await.ok();
    }
    cluster.delete(CONFIG_MAPS).await.ok();
    let (mutating, _) = shown(&hook);
    let deleted: Vec<_> = mutating
        .iter()
        .filter(|request| request["operation"] == "DELETE")
        .collect();
    assert_eq!(deleted.len(), 2);
    for request in deleted {
        assert_eq!(
            (request.get("name"), &request["namespace"]),
            (None, &json!("default"))
        );
        assert!(request["oldObject"]["metadata"]["name"].is_string());
    }
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx:1.14.2"}]},
            },
        },
    })
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

#[tokio::test]
async fn a2_7_a_scale_is_a_scale_of_its_parent() {
    let (cluster, hook) = watched(&["deployments/scale"]).await;
    cluster.post(DEPLOYMENTS, &deployment()).await.ok();
    let merge = json!({"spec": {"replicas": 3}});
    cluster
        .patch("merge", &format!("{DEPLOYMENTS}/web/scale"), &merge)
        .await
        .ok();
    let (mutating, _) = shown(&hook);
    assert_eq!(mutating.len(), 1);
    let request = &mutating[0];
    assert_eq!(
        request["kind"],
        json!({"group": "autoscaling", "version": "v1", "kind": "Scale"})
    );
    assert_eq!(
        request["resource"],
        json!({"group": "apps", "version": "v1", "resource": "deployments"})
    );
    assert_eq!(
        (&request["subResource"], &request["operation"]),
        (&json!("scale"), &json!("UPDATE"))
    );
    assert_eq!(
        (
            &request["object"]["kind"],
            &request["object"]["spec"]["replicas"]
        ),
        (&json!("Scale"), &json!(3))
    );
    assert_eq!(request["oldObject"]["spec"]["replicas"], 1);
}

#[tokio::test]
async fn a2_7_a_status_carries_the_full_object() {
    let (cluster, hook) = watched(&["deployments/status"]).await;
    cluster.post(DEPLOYMENTS, &deployment()).await.ok();
    let merge = json!({"status": {"replicas": 2}});
    cluster
        .patch("merge", &format!("{DEPLOYMENTS}/web/status"), &merge)
        .await
        .ok();
    let (mutating, _) = shown(&hook);
    assert_eq!(mutating.len(), 1);
    assert_eq!(
        (&mutating[0]["subResource"], &mutating[0]["kind"]["kind"]),
        (&json!("status"), &json!("Deployment"))
    );
    assert_eq!(mutating[0]["object"]["status"]["replicas"], 2);
    assert_eq!(mutating[0]["object"]["spec"]["replicas"], 1);
}

#[tokio::test]
async fn a2_8_a_namespace_is_its_own_namespace_on_every_operation() {
    let (cluster, hook) = watched(&["namespaces"]).await;
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "green"}});
    cluster.post("/api/v1/namespaces", &object).await.ok();
    cluster.delete("/api/v1/namespaces/green").await.ok();
    let (mutating, _) = shown(&hook);
    let operations: Vec<_> = mutating
        .iter()
        .map(|request| request["operation"].clone())
        .collect();
    assert_eq!(operations, ["CREATE", "DELETE"]);
    for request in mutating {
        assert_eq!(
            (&request["namespace"], &request["name"]),
            (&json!("green"), &json!("green"))
        );
    }
}

#[tokio::test]
async fn a2_reading_never_goes_through_admission() {
    let (cluster, hook) = watched(&["*/*"]).await;
    cluster.get(CONFIG_MAPS).await.ok();
    cluster.get("/api/v1/namespaces/default").await.ok();
    cluster.watch(CONFIG_MAPS).await;
    assert_eq!(hook.calls(), 0);
}

#[tokio::test]
async fn a10_a_dry_run_is_shown_and_stores_nothing() {
    let (cluster, hook) = watched(&["configmaps"]).await;
    let answer = cluster
        .post(&format!("{CONFIG_MAPS}?dryRun=All"), &config_map("a"))
        .await;
    assert_eq!(answer.code, 201);
    let (mutating, validating) = shown(&hook);
    assert_eq!(
        (&mutating[0]["dryRun"], &validating[0]["dryRun"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(mutating[0]["options"]["dryRun"], json!(["All"]));
    assert_eq!(cluster.get(&format!("{CONFIG_MAPS}/a")).await.code, 404);
}

#[tokio::test]
async fn a10_the_requests_own_timeout_lowers_the_webhooks() {
    let (cluster, hook) = watched(&["configmaps"]).await;
    cluster
        .post(&format!("{CONFIG_MAPS}?timeout=3s"), &config_map("a"))
        .await
        .ok();
    assert_eq!(hook.received()[0].target, "/mutate?timeout=3s");
}

#[tokio::test]
async fn a2_1_what_a_mutating_webhook_adds_is_validated_and_stored() {
    let cluster = start();
    let hook = Hook::start(|call| {
        if call.target.starts_with("/mutate") {
            patch(call, &json!([{"op": "add", "path": "/metadata/annotations", "value": {"mutate": "welcome"}}]))
        } else {
            allow(call)
        }
    })
    .await;
    cluster
        .mutating("m", &[hook.webhook_at("m.example.com", "/mutate")])
        .await;
    cluster
        .validating("v", &[hook.webhook_at("v.example.com", "/validate")])
        .await;
    let answer = cluster.post(CONFIG_MAPS, &config_map("a")).await.json();
    let welcome = json!({"mutate": "welcome"});
    assert_eq!(answer["metadata"]["annotations"], welcome);
    let seen = &hook.received()[1].body["request"]["object"];
    assert_eq!(seen["metadata"]["annotations"], welcome);
    let stored = cluster.get(&format!("{CONFIG_MAPS}/a")).await.json();
    assert_eq!(stored["metadata"]["annotations"], welcome);
}

#[tokio::test]
async fn a2_2_correction_15_the_uid_is_filled_in_before_validating_only() {
    let (cluster, hook) = watched(&["configmaps"]).await;
    let stored = cluster.post(CONFIG_MAPS, &config_map("a")).await.json();
    cluster
        .put(&format!("{CONFIG_MAPS}/a"), &config_map("a"))
        .await
        .ok();
    let (mutating, validating) = shown(&hook);
    assert_eq!(mutating[1]["object"]["metadata"].get("uid"), None);
    assert_eq!(
        validating[1]["object"]["metadata"]["uid"],
        stored["metadata"]["uid"]
    );
}
