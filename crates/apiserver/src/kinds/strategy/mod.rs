//! What a write may set: status, generation, immutable metadata, and the part that each sub-resource owns.

use serde_json::Value;

use super::Resource;

/// Prepares a new object for its first write: what clients may not set is reset, what the server owns is filled in.
pub fn prepare_for_create(resource: &Resource, object: &mut Value) {
    let _ = (resource, object);
}

/// Prepares a changed object: what this path may not change is taken from the stored object. `subresource` is empty
/// for the object itself, otherwise `status`, `finalize`, `ephemeralcontainers`, `resize`, ….
pub fn prepare_for_update(resource: &Resource, subresource: &str, new: &mut Value, old: &Value) {
    let _ = (resource, subresource, new, old);
}

/// The warnings that the API server itself sends for a written object; `old` is null for a new one.
pub fn warnings(resource: &Resource, new: &Value, old: &Value) -> Vec<String> {
    let _ = (resource, new, old);
    Vec::new()
}
