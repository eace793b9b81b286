//! What the webhook answers to an API server.

use annotate_pod::webhooks;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::options;

/// The object as it is stored after the webhook has seen it.
async fn stored(arguments: &[&str], pod: Value) -> Value {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "9d6e", "operation": "CREATE", "userInfo": {"username": "alice"},
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "namespace": "default", "object": pod,
        },
    });
    let request = Request::post("/mutate?timeout=10s")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(review.to_string())))
        .unwrap();
    let service = webhooks(options(arguments));
    let answer = service.oneshot(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["response"]["allowed"], true, "{body}");
    let mut stored = pod;
    if let Some(patch) = body["response"]["patch"].as_str() {
        let patch: json_patch::Patch =
            serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
        json_patch::patch(&mut stored, &patch).unwrap();
    }
    stored
}

async fn annotated(text: &str, pod: Value) -> Value {
    stored(&["--text", text], pod).await
}

/// The pod of the walk-through.
fn nginx() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "nginx", "namespace": "default"},
        "spec": {"containers": [
            {"name": "nginx", "image": "nginx:1.14.2", "ports": [{"containerPort": 80}]},
        ]},
    })
}

#[tokio::test]
async fn the_text_is_welcome_unless_it_is_set() {
    let mut expected = nginx();
    expected["metadata"]["annotations"] = json!({"mutate": "welcome"});
    assert_eq!(stored(&[], nginx()).await, expected);
}

#[tokio::test]
async fn a_pod_without_annotations_gets_one() {
    let mut expected = nginx();
    expected["metadata"]["annotations"] = json!({"mutate": "welcome"});
    assert_eq!(annotated("welcome", nginx()).await, expected);
}

#[tokio::test]
async fn existing_annotations_and_unknown_fields_stay() {
    let mut pod = nginx();
    pod["metadata"]["annotations"] = json!({"example.com/owner": "Zoë", "mutate": "old"});
    pod["spec"]["notYetInvented"] = json!({"a": [1, null]});
    let mut expected = pod.clone();
    expected["metadata"]["annotations"]["mutate"] = json!("welcome");
    assert_eq!(annotated("welcome", pod).await, expected);
}

#[tokio::test]
async fn every_text_survives() {
    for text in ["grüß dich", "ようこそ 🎉", "a/b~c \"quoted\"\n\\", ""] {
        let stored = annotated(text, nginx()).await;
        assert_eq!(stored["metadata"]["annotations"]["mutate"], text);
    }
}

#[tokio::test]
async fn a_pod_that_has_the_annotation_already_is_left_as_it_is() {
    let mut pod = nginx();
    pod["metadata"]["annotations"] = json!({"mutate": "welcome"});
    assert_eq!(annotated("welcome", pod.clone()).await, pod);
}
