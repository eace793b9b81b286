//! Metadata that only a write of the object itself can change.

use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

/// What only the main path may change in the metadata.
pub(crate) fn reset(new: &mut Value, old: &Value) {
    let Some(metadata) = new.part("metadata") else {
        return;
    };
    for field in [
        "deletionTimestamp",
        "generation",
        "selfLink",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    ] {
        metadata.take_from(old.at("metadata"), field);
    }
}
