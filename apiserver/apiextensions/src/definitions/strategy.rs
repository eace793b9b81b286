//! What a write of a CustomResourceDefinition may set: its status belongs to the server, and remembers every version that
//! objects were ever stored in.

use kubewright_apimachinery::equality;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::view::{Edit, View};
use kubewright_registry::{Behavior, Creation, Findings, Strategy};
use serde_json::{Value, json};

use super::defaults::storage_version;
use super::{defaults, validation};
use crate::structural;

/// The strategy of CustomResourceDefinitions.
#[derive(Debug)]
#[non_exhaustive]
pub struct CustomResourceDefinition;

impl Strategy for CustomResourceDefinition {
    fn default(&self, object: &mut Value) {
        defaults::apply(object);
    }

    /// A new definition has no status but its first stored version.
    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        if let Some(metadata) = object.part("metadata") {
            metadata.put("generation", 1);
        }
        object.put(
            "status",
            json!({ "acceptedNames": { "kind": "", "plural": "" }, "conditions": null }),
        );
        remember_storage(object);
    }

    /// A changed definition keeps its status, and may get another stored version.
    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        match subresource {
            "" => {
                new.take_from(old, "status");
                remember_storage(new);
                count_generation(new, old);
            }
            "status" => new.take_from(old, "spec"),
            _ => {}
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        validation::create(object, &mut found.errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        match subresource {
            "" => validation::update(new, old, &mut found.errors),
            "status" => validation::update_status(new, old, &mut found.errors),
            _ => {}
        }
    }

    fn warnings(&self, new: &Value, old: &Value) -> Vec<String> {
        warnings(new, old)
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            unconditional_update: false,
            ..Behavior::default()
        }
    }
}

fn count_generation(new: &mut Value, old: &Value) {
    let kind = GroupVersionKind {
        group: "apiextensions.k8s.io".to_owned(),
        version: "v1".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
    };
    if equality::same_field(&kind, "spec", new, old) {
        return;
    }
    let generation = old.at("metadata").int("generation").unwrap_or(0);
    if let Some(metadata) = new.part("metadata") {
        metadata.put("generation", generation.wrapping_add(1));
    }
}

/// Formats that mean nothing to this server, unless they stood there before.
fn warnings(new: &Value, old: &Value) -> Vec<String> {
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
