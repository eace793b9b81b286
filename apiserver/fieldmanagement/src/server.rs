//! What the API server itself writes: a field manager like others, whose name is `kube-apiserver`.

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::time::now;
use kubewright_apimachinery::view::View as _;
use kubewright_registry::Registry;
use serde_json::{Value, json};

use super::track::{Tracked, update};
use super::versions::Versions;

const MANAGER: &str = "kube-apiserver";

/// Returns the `managedFields` of an object that the server has just created, with the fields that it set.
pub fn created_by_server(api_version: &str, fields: &Value) -> Value {
    json!([{
        "manager": MANAGER,
        "operation": "Update",
        "apiVersion": api_version,
        "time": now(),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }])
}

/// Notes that the server changed the status of an object.
pub fn update_status(registry: &Registry, old: &Value, new: &mut Value) {
    let (group, version) = split(old.text("apiVersion"));
    let kind = GroupVersionKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: old.text("kind").to_owned(),
    };
    let Some(resource) = registry.by_kind(&kind) else {
        return;
    };
    let tracked = Tracked {
        resource: &resource,
        kind: &kind,
        subresource: "status",
        registry,
        versions: &Versions::default(),
        now: &now(),
    };
    update(&tracked, old, new, false, MANAGER);
}

fn split(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}
