//! The metadata of custom objects: the one part whose form no definition decides.

use serde_json::Value;

use crate::structural::coerce_metadata;

/// Makes the metadata what Go's type keeps of them. Answers the fields that it does not know.
///
/// # Errors
/// The decoder's words for a field of a wrong type.
pub(super) fn conform(object: &mut Value) -> Result<Vec<String>, String> {
    let Some(metadata) = object.get_mut("metadata") else {
        return Ok(Vec::new());
    };
    let unknown = coerce_metadata(metadata)?.into_iter();
    Ok(unknown.map(|path| format!("metadata.{path}")).collect())
}
