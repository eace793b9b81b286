//! What a write of a CustomResourceDefinition may set: its status belongs to the server, and remembers every version that
//! objects were ever stored in.

use std::collections::BTreeSet;

use jiff::Timestamp;
use kubewright_apimachinery::equality;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::view::{Edit, View};
use kubewright_registry::{Behavior, Creation, Findings, Strategy};
use serde_json::{Value, json};

use super::defaults::storage_version;
use super::{columns, defaults, validation};
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
        settle_defaults(object);
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
                settle_defaults(new);
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

    fn cells(&self, object: &Value, _now: Timestamp) -> Vec<Value> {
        columns::cells(object)
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            unconditional_update: false,
            ..Behavior::default()
        }
    }
}

/// After the generation is counted: the real server changes the defaults when it validates.
fn settle_defaults(object: &mut Value) {
    let versions = object.existing("spec").map(|spec| spec.each("versions"));
    for version in versions.into_iter().flatten() {
        let schema = version.existing("schema");
        if let Some(schema) = schema.and_then(|schema| schema.existing("openAPIV3Schema")) {
            structural::settle_defaults(schema);
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

/// Formats that mean nothing to this server, and sets of what is no scalar, unless they stood there before.
fn warnings(new: &Value, old: &Value) -> Vec<String> {
    let (before, found) = (Unsupported::of(old), Unsupported::of(new));
    let formats = found.formats.iter();
    let formats = formats.filter(|format| !before.formats.contains(format));
    let formats = formats.map(|format| format!("unrecognized format {}", quoted(format)));
    let items = found.items_of_sets.difference(&before.items_of_sets);
    let sets = items.map(|item| {
        let item = quoted(item);
        format!(
            "x-kubernetes-list-type: set for items of type {item} is not supported by server-side \
             apply or CEL validation rules"
        )
    });
    formats.chain(sets).collect()
}

/// What the schemas of a definition say that this server does not do.
#[derive(Default)]
struct Unsupported<'d> {
    formats: Vec<&'d str>,
    items_of_sets: BTreeSet<&'d str>,
}

impl<'d> Unsupported<'d> {
    fn of(definition: &'d Value) -> Self {
        let mut found = Self::default();
        for version in definition.at("spec").list("versions") {
            found.look(version.at("schema").at("openAPIV3Schema"));
        }
        found
    }

    fn look(&mut self, schema: &'d Value) {
        let format = schema.text("format");
        if !format.is_empty() && !structural::is_format_of(schema.text("type"), format) {
            self.formats.push(format);
        }
        let item = schema.at("items").text("type");
        if schema.text("x-kubernetes-list-type") == "set" && matches!(item, "object" | "array") {
            self.items_of_sets.insert(item);
        }
        // In the order in which the real server walks through a schema.
        if schema.at("items").is_object() {
            self.look(schema.at("items"));
        }
        for field in ["allOf", "anyOf", "oneOf"] {
            for below in schema.list(field) {
                self.look(below);
            }
        }
        if schema.at("not").is_object() {
            self.look(schema.at("not"));
        }
        for (_, below) in schema.entries("properties") {
            self.look(below);
        }
        if schema.at("additionalProperties").is_object() {
            self.look(schema.at("additionalProperties"));
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
