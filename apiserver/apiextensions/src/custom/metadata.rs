//! The metadata of custom objects: the one part whose form no definition decides.

use kubewright_apimachinery::conform::conform_type;
use serde_json::Value;

const TYPE: &str = "apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Makes the metadata what Go's type keeps of them. Answers the fields that it does not know.
///
/// # Errors
/// The decoder's words for a field of a wrong type.
pub(super) fn conform(object: &mut Value) -> Result<Vec<String>, String> {
    let Some(metadata) = object.get_mut("metadata") else {
        return Ok(Vec::new());
    };
    if metadata.is_null() {
        *metadata = Value::Object(serde_json::Map::new());
    }
    let conformed = conform_type(TYPE, metadata)?;
    if let Value::Object(members) = metadata {
        // Go leaves out what is empty when it writes the object again.
        members.retain(|_, value| !is_empty(value));
    }
    let unknown = conformed.unknown.into_iter();
    Ok(unknown.map(|path| format!("metadata.{path}")).collect())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}
