//! PATCH (spec section C.11).

use std::sync::Arc;

use http::Method;
use serde_json::json;

use crate::cluster::{Cluster, deployment, map};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

async fn with_map() -> (Cluster, String) {
    let cluster = Cluster::start();
    cluster.post(MAPS, &map("x")).await.expect(201);
    (cluster, format!("{MAPS}/x"))
}

#[tokio::test]
async fn each_patch_type_changes_the_object() {
    let (cluster, path) = with_map().await;
    let json_patch = json!([{"op": "add", "path": "/data/a", "value": "1"}]);
    let patched = cluster.patch("json", &path, &json_patch).await.expect(200);
    assert_eq!(patched["data"], json!({"a": "1", "k": "v"}));
    let patched = cluster
        .patch("merge", &path, &json!({"data": {"a": null}}))
        .await
        .expect(200);
    assert_eq!(patched["data"], json!({"k": "v"}));

    cluster
        .post(DEPLOYMENTS, &deployment("web"))
        .await
        .expect(201);
    let sidecar =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "s"}]}}}});
    let path = format!("{DEPLOYMENTS}/web");
    let patched = cluster
        .patch("strategic", &path, &sidecar)
        .await
        .expect(200);
    let containers = patched["spec"]["template"]["spec"]["containers"]
        .as_array()
        .unwrap();
    let names: Vec<_> = containers
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["side", "main"]);
}

#[tokio::test]
async fn a_patch_of_nothing_is_not_found() {
    let cluster = Cluster::start();
    let message = cluster
        .patch("merge", &format!("{MAPS}/x"), &json!({}))
        .await
        .refused(404, "NotFound");
    assert_eq!(message, "configmaps \"x\" not found");
}

#[tokio::test]
async fn a_json_patch_that_does_not_apply_says_nothing_of_why() {
    let (cluster, path) = with_map().await;
    for patch in [
        json!([{"op": "test", "path": "/data/k", "value": "other"}]),
        json!([{"op": "remove", "path": "/data/missing"}]),
    ] {
        let status = cluster.patch("json", &path, &patch).await.expect(422);
        assert_eq!(status["reason"], "Invalid");
        assert_eq!(
            status["message"],
            "the server rejected our request due to an error in our request"
        );
        assert_eq!(status["details"], json!({}));
    }
}

#[tokio::test]
async fn text_that_is_no_patch_is_a_bad_request() {
    let (cluster, path) = with_map().await;
    for kind in [
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    ] {
        let headers = [("content-type", kind)];
        let answer = cluster
            .send(Method::PATCH, &path, &headers, "{\"a\":")
            .await;
        let message = answer.refused(400, "BadRequest");
        assert_eq!(message, "invalid JSON patch", "{kind}");
    }
}

#[tokio::test]
async fn another_content_type_is_refused_by_the_router() {
    let (cluster, path) = with_map().await;
    let headers = [("content-type", "application/json")];
    let status = cluster
        .send(Method::PATCH, &path, &headers, "{}")
        .await
        .expect(415);
    assert_eq!(status["message"], "415: Unsupported Media Type");
    assert_eq!(status["details"], json!({}));
}

#[tokio::test]
async fn an_apply_is_merged_and_remembered() {
    let (cluster, path) = with_map().await;
    let path = format!("{path}?fieldManager=me&force=true");
    let send = async |kind, body: &'static str| {
        let headers = [("content-type", kind)];
        cluster.send(Method::PATCH, &path, &headers, body).await
    };
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {applied: \"1\"}\n";
    let object = send("application/apply-patch+yaml", yaml).await.expect(200);
    assert_eq!(object["data"]["applied"], "1");
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let mine = entries
        .iter()
        .find(|entry| entry["manager"] == "me")
        .unwrap();
    assert_eq!(mine["operation"], "Apply");
    assert_eq!(mine["fieldsV1"], json!({"f:data": {"f:applied": {}}}));
    let cbor = send("application/apply-patch+cbor", "{}").await;
    let _ = cbor.refused(415, "UnsupportedMediaType");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_may_apply_an_object_that_is_not_there_yet() {
    const MANY: usize = 64;
    let cluster = Arc::new(Cluster::start());
    let all_at_once = Arc::new(tokio::sync::Barrier::new(MANY));
    let mut applies = tokio::task::JoinSet::new();
    for at in 0..MANY {
        let (cluster, all_at_once) = (cluster.clone(), all_at_once.clone());
        applies.spawn(async move {
            let path = format!("{MAPS}/shared?fieldManager=m{at}");
            let body = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}, "data": {format!("k{at}"): "v"},
            });
            let headers = [("content-type", "application/apply-patch+yaml")];
            all_at_once.wait().await;
            let answer = cluster.send(Method::PATCH, &path, &headers, body.to_string()).await;
            answer.code.as_u16()
        });
    }
    let mut codes = applies.join_all().await;
    codes.sort_unstable();
    assert_eq!(codes.pop(), Some(201), "{codes:?}");
    assert!(codes.iter().all(|code| *code == 200), "{codes:?}");
    let stored = cluster.get(&format!("{MAPS}/shared")).await.expect(200);
    assert_eq!(stored["data"].as_object().unwrap().len(), MANY);
}

#[tokio::test]
async fn too_many_operations_are_refused() {
    let (cluster, path) = with_map().await;
    let one = json!({"op": "add", "path": "/data/k", "value": "1"});
    let patch = vec![one; 10_001];
    let message = cluster
        .patch("json", &path, &patch.into())
        .await
        .refused(413, "RequestEntityTooLarge");
    assert_eq!(
        message,
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
    );
}

#[tokio::test]
async fn a_revision_in_a_patch_is_a_precondition() {
    let (cluster, path) = with_map().await;
    let patch = json!({"metadata": {"resourceVersion": "1"}, "data": {"a": "1"}});
    let _ = cluster
        .patch("merge", &path, &patch)
        .await
        .refused(409, "Conflict");
}

#[tokio::test]
async fn a_result_that_does_not_decode_names_no_kind() {
    let (cluster, path) = with_map().await;
    let message = cluster
        .patch("merge", &path, &json!({"data": {"k": 1}}))
        .await
        .refused(422, "Invalid");
    assert!(
        message.starts_with(" \"\" is invalid: patch: Invalid value: \"{"),
        "{message}"
    );
    assert!(
        message.contains("json: cannot unmarshal number"),
        "{message}"
    );
}

#[tokio::test]
async fn strict_patches_may_not_bring_unknown_fields() {
    let (cluster, path) = with_map().await;
    let strict = format!("{path}?fieldValidation=Strict");
    let status = cluster
        .patch("merge", &strict, &json!({"foo": "bar"}))
        .await
        .expect(422);
    assert_eq!(status["details"]["causes"][0]["field"], "patch");
    let message = status["message"].as_str().unwrap();
    assert!(
        message.contains("strict decoding error: unknown field \"foo\""),
        "{message}"
    );
    let answer = cluster.patch("merge", &path, &json!({"foo": "bar"})).await;
    assert_eq!(
        answer.header("warning"),
        "299 - \"unknown field \\\"foo\\\"\""
    );
    answer.expect(200);
}

#[tokio::test]
async fn force_is_for_apply_only() {
    let (cluster, path) = with_map().await;
    let message = cluster
        .patch("merge", &format!("{path}?force=true"), &json!({}))
        .await
        .refused(422, "Invalid");
    assert_eq!(
        message,
        "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch",
    );
}

#[tokio::test]
async fn a_dry_run_patch_leaves_the_object_alone() {
    let (cluster, path) = with_map().await;
    let before = cluster.get(&path).await.expect(200);
    let patch = json!({"data": {"k": "w"}});
    let shown = cluster
        .patch("merge", &format!("{path}?dryRun=All"), &patch)
        .await
        .expect(200);
    assert_eq!(shown["data"]["k"], "w");
    assert_eq!(
        shown["metadata"]["resourceVersion"],
        before["metadata"]["resourceVersion"]
    );
    assert_eq!(cluster.get(&path).await.expect(200), before);
}
