//! `metadata.generation`: how often what a kind is about has changed.

use kubewright_apimachinery::equality;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

/// Starts to count the changes of a new object.
pub(crate) fn start(object: &mut Value) {
    if let Some(metadata) = object.part("metadata") {
        metadata.put("generation", 1);
    }
}

/// Counts a change.
pub(crate) fn count(new: &mut Value, old: &Value) {
    let stored = old.at("metadata");
    let generation = stored.int("generation").unwrap_or(0).wrapping_add(1);
    if let Some(metadata) = new.part("metadata") {
        metadata.put("generation", generation);
    }
}

/// Counts a change of the spec of a kind, which is given by group, version and kind.
pub(crate) fn count_spec(kind: [&str; 3], new: &mut Value, old: &Value) {
    if is_changed(kind, "spec", new, old) {
        count(new, old);
    }
}

/// Returns whether a field of a kind has changed, by its type.
pub(crate) fn is_changed(kind: [&str; 3], field: &str, new: &Value, old: &Value) -> bool {
    let [group, version, kind] = kind.map(str::to_owned);
    let kind = GroupVersionKind {
        group,
        version,
        kind,
    };
    !equality::same_field(&kind, field, new, old)
}
