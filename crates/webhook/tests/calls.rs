//! Calls a webhook service as the API server does.

use base64::Engine as _;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use kubewright_webhook::Webhooks;
use serde_json::{Value, json};
use tower::ServiceExt;

/// An answer: the HTTP status code and the body.
#[derive(Debug)]
#[must_use]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn response(&self) -> &Value {
        assert_eq!(self.code, 200, "{}", self.body);
        &self.body["response"]
    }

    pub(crate) fn allowed(&self) -> bool {
        self.response()["allowed"] == true
    }

    pub(crate) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap()
    }

    pub(crate) fn patch(&self) -> Value {
        match &self.response()["patch"] {
            Value::Null => Value::Null,
            patch => serde_json::from_slice(
                &base64::engine::general_purpose::STANDARD
                    .decode(patch.as_str().unwrap())
                    .unwrap(),
            )
            .unwrap(),
        }
    }
}

/// Sends a request and reads the answer.
pub(crate) async fn send<B>(webhooks: &Webhooks, request: Request<B>) -> Answer
where
    B: http_body::Body<Data = Bytes, Error = std::convert::Infallible> + Send + 'static,
{
    let response = webhooks.clone().oneshot(request).await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    Answer {
        code,
        body: serde_json::from_slice(&body).unwrap(),
    }
}

/// Posts a body.
pub(crate) async fn post(webhooks: &Webhooks, path: &str, body: impl Into<Bytes>) -> Answer {
    let request = Request::post(format!("{path}?timeout=10s"))
        .header("content-type", "application/json")
        .body(Full::new(body.into()))
        .unwrap();
    send(webhooks, request).await
}

/// Has a review answered.
pub(crate) async fn review(webhooks: &Webhooks, path: &str, request: Value) -> Answer {
    let uid = request["uid"].clone();
    let body =
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let answer = post(webhooks, path, body.to_string()).await;
    if answer.code == 200 {
        assert_eq!(answer.body["apiVersion"], "admission.k8s.io/v1");
        assert_eq!(answer.body["kind"], "AdmissionReview");
        assert_eq!(answer.body["response"]["uid"], uid);
    }
    answer
}

/// The request that creates a pod.
pub(crate) fn create(object: impl Into<Value>) -> Value {
    let object = object.into();
    json!({
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
        "requestResource": {"group": "", "version": "v1", "resource": "pods"},
        "name": "web",
        "namespace": "blue",
        "operation": "CREATE",
        "userInfo": {"username": "alice", "groups": ["dev", "system:authenticated"]},
        "object": object,
        "oldObject": null,
        "dryRun": false,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
    })
}

/// A pod with one container.
pub(crate) fn pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web", "namespace": "blue"},
        "spec": {"containers": [{"name": "web", "image": "nginx:1.14.2"}]},
    })
}
