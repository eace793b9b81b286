//! What an event keeps of an answer.

use http::Response;
use http::header::CONTENT_TYPE;
use kubewright_apimachinery::{json, protobuf, yaml};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::body::Body;

/// The members of a Status that an event has; its metadata are always empty.
pub(super) fn status(status: &Value) -> Map<String, Value> {
    let mut kept = Map::new();
    kept.insert("metadata".to_owned(), Map::new().into());
    for name in ["status", "message", "reason", "details", "code"] {
        if let Some(value) = status.get(name) {
            kept.insert(name.to_owned(), value.clone());
        }
    }
    kept
}

/// The object that an answer consists of, if it is one.
pub(super) fn object(response: &Response<Body>) -> Option<Value> {
    let bytes = response.body().text()?;
    if is(response, "application/json") {
        json::parse_own(&bytes)
    } else if is(response, "application/yaml") {
        yaml::parse_own(&bytes)
    } else if is(response, "application/vnd.kubernetes.protobuf") {
        protobuf::decode_answer(&bytes).ok()
    } else {
        None
    }
}

/// The Status that an answer consists of, if it is one. Large answers are looked through, not read.
pub(super) fn status_object(response: &Response<Body>) -> Option<Value> {
    #[derive(Deserialize)]
    struct Kind {
        kind: String,
    }
    if is(response, "application/json") {
        let kind: Kind = serde_json::from_slice(response.body().whole()?).ok()?;
        if kind.kind != "Status" {
            return None;
        }
    }
    object(response).filter(|object| object["kind"] == "Status")
}

fn is(response: &Response<Body>, media_type: &str) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(media_type.as_bytes()))
}
