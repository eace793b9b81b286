//! sidecar-injector, from the function to the running program.

#![cfg(test)]

mod client;
mod cluster;
mod config_map;
mod decisions;
mod injection;
mod manifests;
mod program;

use std::ffi::OsStr;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use clap::{Args, Command, FromArgMatches};
use http::Request;
use http_body_util::{BodyExt, Full};
use kubewright::Live;
use serde_json::{Value, json};
use sidecar_injector::{Options, Sidecars, webhooks};
use tower::ServiceExt;

/// The options that name the file `config`.
fn options(config: &Path) -> Options {
    parsed([OsStr::new("--config"), config.as_os_str()])
}

fn parsed(arguments: [&OsStr; 2]) -> Options {
    let command = Options::augment_args(Command::new("sidecar-injector").no_binary_name(true));
    Options::from_arg_matches(&command.get_matches_from(arguments)).unwrap()
}

/// The pod of the walk-through.
fn alpine() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "alpine", "namespace": "injection"},
        "spec": {"containers": [
            {"name": "alpine", "image": "alpine", "command": ["sleep", "infinity"]},
        ]},
    })
}

/// What an API server posts when `pod` is created.
fn review(namespace: &str, pod: &Value) -> String {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "9d6e", "operation": "CREATE", "userInfo": {"username": "user-in-the-review"},
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "namespace": namespace, "object": pod,
        },
    });
    review.to_string()
}

/// `pod` as it is stored after an answer, and the warnings.
fn stored(mut pod: Value, answer: &[u8]) -> (Value, Vec<String>) {
    let answer: Value = serde_json::from_slice(answer).unwrap();
    let response = &answer["response"];
    assert_eq!(response["allowed"], true, "{answer}");
    if let Some(patch) = response["patch"].as_str() {
        let patch: json_patch::Patch =
            serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
        json_patch::patch(&mut pod, &patch).unwrap();
    }
    let warnings = response["warnings"].as_array().into_iter().flatten();
    (
        pod,
        warnings
            .map(|warning| warning.as_str().unwrap().to_owned())
            .collect(),
    )
}

/// `pod` as it is stored when it is created in `namespace`, and the warnings.
async fn created(sidecars: Sidecars, namespace: &str, pod: Value) -> (Value, Vec<String>) {
    let request = Request::post("/inject?timeout=10s")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(review(namespace, &pod))))
        .unwrap();
    let answer = webhooks(Live::fixed(sidecars))
        .oneshot(request)
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    stored(pod, &body)
}

/// The names of the containers or volumes of a pod.
fn names<'a>(pod: &'a Value, list: &str) -> Vec<&'a str> {
    let items = pod["spec"][list].as_array().into_iter().flatten();
    items.map(|item| item["name"].as_str().unwrap()).collect()
}
