//! deny-env, from the function to the manifests.

#![cfg(test)]

mod cluster;
mod env;
mod manifests;
mod reserved;
mod storage;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use clap::{Args, Command, FromArgMatches};
use deny_env::{Options, webhooks};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

/// The response that the API server gets.
#[must_use]
struct Answer(Value);

impl Answer {
    fn allowed(&self) -> bool {
        self.0["allowed"] == true
    }

    /// The code and the message of a denial.
    fn denial(&self) -> (u64, &str) {
        assert_eq!(self.0["allowed"], false, "{}", self.0);
        let status = &self.0["status"];
        (
            status["code"].as_u64().unwrap(),
            status["message"].as_str().unwrap(),
        )
    }

    fn warnings(&self) -> Vec<&str> {
        self.0["warnings"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// `object` as it is stored after this answer.
    fn stored(&self, mut object: Value) -> Value {
        assert!(self.allowed(), "{}", self.0);
        if let Some(patch) = self.0["patch"].as_str() {
            let patch: json_patch::Patch =
                serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
            json_patch::patch(&mut object, &patch).unwrap();
        }
        object
    }
}

/// The options that a command line gives.
fn options(arguments: &[&str]) -> Options {
    let command = Options::augment_args(Command::new("deny-env").no_binary_name(true));
    Options::from_arg_matches(&command.get_matches_from(arguments)).unwrap()
}

/// Sends a request to one of the program's webhooks as an API server would.
async fn asked(arguments: &[&str], path: &str, request: Value) -> Answer {
    let mut review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "9d6e", "operation": "CREATE", "userInfo": {"username": "alice"},
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "namespace": "default",
        },
    });
    review["request"]
        .as_object_mut()
        .unwrap()
        .extend(request.as_object().unwrap().clone());
    let request = Request::post(format!("{path}?timeout=10s"))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(review.to_string())))
        .unwrap();
    let answer = webhooks(options(arguments)).oneshot(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let mut body: Value = serde_json::from_slice(&body).unwrap();
    Answer(body["response"].take())
}
