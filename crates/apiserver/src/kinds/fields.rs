//! The values that field selectors compare, per kind.

use serde_json::Value;

use super::Resource;

/// The value of a selectable field: `None` where the kind has no such field selector, an empty text where the object
/// does not set it.
pub fn value(resource: &Resource, object: &Value, field: &str) -> Option<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match field {
        "metadata.name" => Some(text(&object["metadata"]["name"])),
        "metadata.namespace" if resource.namespaced => Some(text(&object["metadata"]["namespace"])),
        _ => None,
    }
}
