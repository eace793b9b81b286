//! What a write of a custom object may set, and what is only warned of (spec section D.5).

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::Custom;

impl Custom {
    /// Prepares a new object.
    pub(crate) fn prepare_for_create(&self, object: &mut Value) {
        if self.status {
            object.drop_field("status");
        }
        if let Some(metadata) = object.part("metadata") {
            metadata.put("generation", 1);
        }
    }

    /// Prepares a changed object, or one whose status was changed.
    pub(crate) fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
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
    names.any(|name| name != "metadata" && new.get(name) != old.get(name))
}

/// Finalizers that others could mean something else by.
pub(crate) fn warnings(new: &Value, old: &Value) -> Vec<String> {
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
