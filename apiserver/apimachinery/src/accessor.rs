//! Reads and changes the metadata of an object whose type does not matter, as `meta.Accessor` does.
//!
//! ```
//! use kubewright_apimachinery::accessor::{meta_text, metadata_mut};
//! use serde_json::json;
//!
//! let mut object = json!({"kind": "ConfigMap"});
//! metadata_mut(&mut object).insert("name".to_owned(), "settings".into());
//! assert_eq!(meta_text(&object, "name"), "settings");
//! assert_eq!(meta_text(&object, "namespace"), "");
//! ```

use std::sync::LazyLock;

use serde_json::{Map, Value};

/// Returns the metadata of an object; empty if it has none.
#[inline]
pub fn metadata(object: &Value) -> &Map<String, Value> {
    static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    object
        .get("metadata")
        .and_then(Value::as_object)
        .unwrap_or(&NONE)
}

/// Returns the metadata of an object, to change. What is no object becomes one.
///
/// # Panics
/// Never.
pub fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let metadata = &mut object["metadata"];
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    metadata
        .as_object_mut()
        .expect("the metadata was just made an object")
}

/// Returns a string of the metadata; empty if the key is missing.
#[inline]
pub fn meta_text<'a>(object: &'a Value, name: &str) -> &'a str {
    metadata(object)
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Returns the number of finalizers in the metadata.
pub fn finalizers(object: &Value) -> usize {
    metadata(object)
        .get("finalizers")
        .and_then(Value::as_array)
        .map_or(0, Vec::len)
}
