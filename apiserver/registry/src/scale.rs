//! The `scale` sub-resource: the number of replicas of a workload, whatever its kind.

use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Value, json};

use crate::resource::Resource;

/// The Scale of a workload, as `autoscaling/v1`.
pub fn read(resource: &Resource, object: &Value) -> Value {
    let metadata = object.at("metadata");
    let mut kept = json!({});
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if metadata.has(field) {
            kept.put(field, metadata.at(field).clone());
        }
    }
    let (spec, status) = (object.at("spec"), object.at("status"));
    let mut scale = json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": kept,
        "spec": {},
        "status": { "replicas": status.int("replicas").unwrap_or(0) },
    });
    // Zero replicas are not written, as Go's omitempty has it.
    if let Some(replicas) = spec.int("replicas").filter(|replicas| *replicas != 0) {
        scale["spec"].put("replicas", replicas);
    }
    let selector = if resource.kind == "ReplicationController" {
        json!({ "matchLabels": spec.at("selector") })
    } else {
        spec.at("selector").clone()
    };
    let selector = crate::columns::selector_text(&selector);
    if !selector.is_empty() {
        scale["status"].put("selector", selector);
    }
    scale
}

/// Takes the replicas of a Scale into its workload.
pub fn write(object: &mut Value, scale: &Value) {
    let replicas = scale.at("spec").int("replicas").unwrap_or(0);
    if let Some(spec) = object.part("spec") {
        spec.put("replicas", replicas);
    }
}
