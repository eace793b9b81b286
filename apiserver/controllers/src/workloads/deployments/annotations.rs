//! Annotations of Deployments and their ReplicaSets.

use serde_json::{Map, Value};

/// How many replicas the Deployment asked for when the ReplicaSet was scaled.
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";

/// How many replicas there may be in a rolling update.
pub(super) const MOST: &str = "deployment.kubernetes.io/max-replicas";

/// The label by which the ReplicaSets of a Deployment and their pods are told apart.
pub(super) const HASH_LABEL: &str = "pod-template-hash";

/// An annotation; empty if it is not there.
pub(super) fn annotation<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"]["annotations"][name]
        .as_str()
        .unwrap_or_default()
}

/// Sets an annotation.
pub(super) fn set_annotation(object: &mut Value, name: &str, value: &str) {
    let annotations = &mut object["metadata"]["annotations"];
    if !annotations.is_object() {
        *annotations = Value::Object(Map::new());
    }
    annotations[name] = value.into();
}
