//! What a write of a custom object may set, and what is only warned of (spec section D.5).

use std::borrow::Cow;

use jiff::Timestamp;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::json::is_negative_zero;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::{Edit, View};
use kubewright_registry::{Behavior, Column, Creation, Findings, Strategy};
use kubewright_storage::ReadBack;
use serde_json::Value;

use super::{Custom, Version, fields};
use crate::structural::is_same;

impl Strategy for Custom {
    fn default(&self, object: &mut Value) {
        Version::default(self, object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        if self.status {
            object.drop_field("status");
        }
        if let Some(metadata) = object.part("metadata") {
            metadata.put("generation", 1);
        }
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            let status = new.get("status").cloned();
            let managers = new.at("metadata").get("managedFields").cloned();
            let revision = new.at("metadata").get("resourceVersion").cloned();
            *new = old.clone();
            replace(new, "status", status);
            if let Some(metadata) = new.part("metadata") {
                replace(metadata, "managedFields", managers);
                replace(metadata, "resourceVersion", revision);
            }
            return;
        }
        if self.status {
            replace(new, "status", old.get("status").cloned());
        }
        if is_another(new, old) {
            let generation = old
                .at("metadata")
                .int("generation")
                .unwrap_or(0)
                .wrapping_add(1);
            if let Some(metadata) = new.part("metadata") {
                metadata.put("generation", generation);
            }
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        self.check_new(object, found);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        self.check_changed(subresource, new, old, found);
    }

    fn warnings(&self, new: &Value, old: &Value) -> Vec<String> {
        warnings(new, old)
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["metadata"], &["spec"]],
            _ if self.status => &[&["status"]],
            _ => &[],
        }
    }

    fn may_not_fit(&self) -> bool {
        true
    }

    fn is_read_back(&self, object: &Value) -> bool {
        !empties(object).is_empty() || has_negative_zero(object)
    }

    fn read_back(&self, object: &mut Value) -> ReadBack {
        let empty = empties(object);
        if let Some(metadata) = object.existing("metadata") {
            for (name, _) in &empty {
                metadata.drop_field(name);
            }
        }
        // A conversion to the version that is stored takes them out.
        let is_stored = self.definition.storage == self.name;
        if is_stored && !empty.is_empty() || has_negative_zero(object) {
            ReadBack::WithoutEmpties
        } else {
            ReadBack::AsStored
        }
    }

    fn columns(&self, _kind: (&str, &str)) -> Vec<Column<'_>> {
        self.column_definitions()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        self.cells_of(object, now)
    }

    fn check_field(&self, field: &str) -> Result<(), String> {
        if self.selects_by(field) {
            return Ok(());
        }
        Err(format!("field label not supported: {field}"))
    }

    fn field_value<'a>(&self, object: &'a Value, field: &str) -> Option<Cow<'a, str>> {
        self.selects_by(field).then(|| fields::value(object, field))
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            unconditional_update: false,
            ..Behavior::default()
        }
    }

    fn refuses_new(&self) -> Option<&str> {
        let why = "create not allowed while custom resource definition is terminating";
        self.definition.terminating.then_some(why)
    }

    fn deprecation(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    fn is_unstructured(&self) -> bool {
        true
    }

    fn installs_routes(&self) -> bool {
        false
    }

    fn converts_by_webhook(&self) -> bool {
        self.definition.converts_by_webhook()
    }

    fn serves_storage_version(&self) -> bool {
        self.definition.serves_its_storage()
    }

    fn shows_as_stored(&self, _text: &[u8], revision: Option<u64>) -> bool {
        // Another version may have written without this one's defaults.
        let definition = &self.definition;
        definition.versions.len() == 1
            && revision.is_some_and(|revision| revision > definition.since)
    }

    fn has_version(&self, api_version: &str) -> bool {
        let (group, name) = api_version.split_once('/').unwrap_or(("", api_version));
        group == self.definition.group && self.definition.version(name).is_some()
    }
}

/// The lists and maps of an object's metadata that an apply stores though they are empty, and that no reader sees.
pub fn empties(object: &Value) -> Vec<(&'static str, Value)> {
    let metadata = object.at("metadata");
    let is_empty = |value: &Value| match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    ["annotations", "finalizers", "labels", "ownerReferences"]
        .into_iter()
        .map(|name| (name, metadata.at(name)))
        .filter(|(_, value)| is_empty(value))
        .map(|(name, value)| (name, value.clone()))
        .collect()
}

/// Whether a number of the object is stored as `-0`, which is read as the integer 0.
fn has_negative_zero(value: &Value) -> bool {
    match value {
        Value::Number(_) => is_negative_zero(value),
        Value::Array(items) => items.iter().any(has_negative_zero),
        Value::Object(members) => members.values().any(has_negative_zero),
        _ => false,
    }
}

fn replace(object: &mut Value, field: &str, value: Option<Value>) {
    match value {
        Some(value) => object.put(field, value),
        None => object.drop_field(field),
    }
}

/// Whether anything but the metadata differs.
fn is_another(new: &Value, old: &Value) -> bool {
    let (Value::Object(new), Value::Object(old)) = (new, old) else {
        return true;
    };
    let mut names = new.keys().chain(old.keys());
    names.any(|name| {
        let is_kept =
            matches!((new.get(name), old.get(name)), (Some(new), Some(old)) if is_same(new, old));
        name != "metadata" && !is_kept
    })
}

/// Finalizers that others could mean something else by.
fn warnings(new: &Value, old: &Value) -> Vec<String> {
    const KNOWN: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];
    let had = old.at("metadata").list("finalizers");
    let mut added: Vec<&str> = new
        .at("metadata")
        .list("finalizers")
        .iter()
        .filter(|name| !had.contains(name))
        .filter_map(Value::as_str)
        .collect();
    added.sort_unstable();
    added.dedup();
    let mut out = Vec::new();
    for name in added {
        let about = |text: &str| format!("metadata.finalizers: {}: {text}", quoted(name));
        out.extend(names::qualified_name(name).iter().map(|why| about(why)));
        if !name.contains('/') && !KNOWN.contains(&name) {
            let how = if name.contains('.') {
                " including a path (/)"
            } else {
                ""
            };
            out.push(about(&format!(
                "prefer a domain-qualified finalizer name{how} to avoid accidental conflicts with other finalizer writers"
            )));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_beyond_64_bits_are_the_same_however_they_are_held() {
        let whole = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let beyond = json!({"spec": {"list": [whole("9223372036854775808")]}});
        let inexact = json!({"spec": {"list": [9_223_372_036_854_775_808_f64]}});
        assert!(!is_another(&beyond, &inexact));
        assert!(is_another(&beyond, &json!({"spec": {"list": [1]}})));
        assert!(is_another(&json!({"a": 1}), &json!({"a": 1.0})));
        assert!(is_another(&json!({"a": null}), &json!({})));
        assert!(is_another(&json!({"a": {"b": 1}}), &json!({"a": {"c": 1}})));
        assert!(!is_another(
            &json!({"metadata": 1}),
            &json!({"metadata": 2})
        ));
    }
}
