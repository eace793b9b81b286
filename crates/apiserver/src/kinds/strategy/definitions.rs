//! What a write of a CustomResourceDefinition may set: its status belongs to the server, and remembers every version that
//! objects were ever stored in.

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Value, json};

use crate::kinds::defaults::storage_version;
use crate::structural;

/// A new definition has no status but its first stored version.
pub(super) fn create(object: &mut Value) {
    object.put(
        "status",
        json!({ "acceptedNames": { "kind": "", "plural": "" }, "conditions": null }),
    );
    remember_storage(object);
}

/// A changed definition keeps its status, and may get another stored version.
pub(super) fn update(new: &mut Value, old: &Value) {
    new.take_from(old, "status");
    remember_storage(new);
}

/// Formats that mean nothing to this server, unless they stood there before.
pub(super) fn warnings(new: &Value, old: &Value) -> Vec<String> {
    let before = unknown_formats(old);
    let mut formats = unknown_formats(new);
    formats.retain(|format| !before.contains(format));
    let warning = |format: String| format!("unrecognized format {}", quoted(&format));
    formats.into_iter().map(warning).collect()
}

fn unknown_formats(definition: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for version in definition.at("spec").list("versions") {
        look(version.at("schema").at("openAPIV3Schema"), &mut found);
    }
    found
}

fn look(schema: &Value, found: &mut Vec<String>) {
    let format = schema.text("format");
    if !format.is_empty() && !structural::is_format_of(schema.text("type"), format) {
        found.push(format.to_owned());
    }
    for (_, below) in schema.entries("properties") {
        look(below, found);
    }
    for field in ["items", "additionalProperties", "not"] {
        if schema.at(field).is_object() {
            look(schema.at(field), found);
        }
    }
    for field in ["allOf", "anyOf", "oneOf"] {
        for below in schema.list(field) {
            look(below, found);
        }
    }
}

fn remember_storage(object: &mut Value) {
    let Some(stored) = storage_version(object).map(Value::from) else {
        return;
    };
    if let Some(status) = object.part("status") {
        let mut versions = status.list("storedVersions").to_vec();
        if !versions.contains(&stored) {
            versions.push(stored);
            status.put("storedVersions", versions);
        }
    }
}
