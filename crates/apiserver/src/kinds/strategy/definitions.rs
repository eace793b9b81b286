//! What a write of a CustomResourceDefinition may set: its status belongs to the server, and remembers every version that
//! objects were ever stored in.

use serde_json::{Value, json};

use crate::kinds::defaults::storage_version;
use crate::kinds::view::{Edit, View};

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
