//! One event of the audit log, with the members of `audit.k8s.io/v1`.

use std::collections::BTreeMap;
use std::fmt;

use kubewright_apimachinery::json::{compact, write};
use kubewright_apimachinery::yaml;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Level;

/// An event of the audit log.
///
/// Its `Display` is the event as one line of JSON.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    pub(super) kind: &'static str,
    pub(super) api_version: &'static str,
    pub(super) level: Level,
    #[serde(rename = "auditID")]
    pub(super) audit_id: String,
    pub(super) stage: Stage,
    #[serde(rename = "requestURI")]
    pub(super) request_uri: String,
    pub(super) verb: String,
    pub(super) user: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) impersonated_user: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) authentication_metadata: Option<AuthenticationMetadata>,
    #[serde(rename = "sourceIPs", skip_serializing_if = "Vec::is_empty")]
    pub(super) source_ips: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) user_agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) object_ref: Option<ObjectReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_status: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_object: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_object: Option<Box<RawValue>>,
    pub(super) request_received_timestamp: String,
    pub(super) stage_timestamp: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: BTreeMap<String, String>,
}

/// An object with its numbers as answers have them: 2.0 is 2.
pub(super) fn as_answered(object: &Value) -> Option<Box<RawValue>> {
    let mut text = Vec::new();
    write(&mut text, object);
    raw(text)
}

/// A patch as it was sent: 2.0 stays what it is. One in YAML as JSON.
pub(super) fn as_sent(patch: &[u8]) -> Option<Box<RawValue>> {
    if serde_json::from_slice::<Value>(patch).is_ok() {
        return raw(compact(patch));
    }
    as_answered(&yaml::parse(patch).ok()?.value)
}

fn raw(text: Vec<u8>) -> Option<Box<RawValue>> {
    RawValue::from_string(String::from_utf8(text).ok()?).ok()
}

/// When in a request's life an event was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum Stage {
    /// The answer of a request that runs long, such as a watch, has begun; or the request went no further.
    ResponseStarted,
    /// The answer is complete.
    ResponseComplete,
    /// The server failed.
    Panic,
}

/// How the user of a request was found out.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuthenticationMetadata {
    pub(super) impersonation_constraint: String,
}

/// What a request is about.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectReference {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) resource: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) uid: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) api_group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) api_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) resource_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) subresource: String,
}

impl Event {
    /// The `Audit-Id` of the answer: what the client sent as such, or a fresh one.
    pub fn audit_id(&self) -> &str {
        &self.audit_id
    }

    /// When in the request's life it was made.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The verb of the request, such as `create`; for a path that is no resource, the method in small letters.
    pub fn verb(&self) -> &str {
        &self.verb
    }

    /// The path of the request, with its query.
    pub fn request_uri(&self) -> &str {
        &self.request_uri
    }

    /// What authorization, admission and the webhooks say of the request.
    pub fn annotations(&self) -> &BTreeMap<String, String> {
        &self.annotations
    }

    /// The whole event.
    pub fn to_value(&self) -> Value {
        // Every member is text, or JSON already.
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        f.write_str(&line)
    }
}
