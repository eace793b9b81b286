//! The metadata of custom objects: the one part whose form no definition decides.

use kubewright_apimachinery::conform::converter_words;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
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

/// The error of metadata that Go's type does not hold. Only a policy or a webhook makes such: others are refused when they are read.
pub(super) fn unreadable(object: &Value) -> Option<FieldError> {
    let metadata = object.at("metadata");
    if has_types(metadata) {
        return None;
    }
    let why = coerce_metadata(&mut metadata.clone()).err()?;
    let why = converter_words(&why, metadata);
    Some(FieldError::invalid(
        &Path::new("metadata"),
        metadata.clone(),
        &why,
    ))
}

/// Whether the metadata are of their types at first sight, so that nothing has to be copied to know it.
fn has_types(metadata: &Value) -> bool {
    let Value::Object(members) = metadata else {
        return metadata.is_null();
    };
    members.iter().all(|(name, value)| match &**name {
        "managedFields" => true,
        "labels" | "annotations" => value
            .as_object()
            .is_some_and(|members| members.values().all(Value::is_string)),
        "finalizers" => value
            .as_array()
            .is_some_and(|items| items.iter().all(Value::is_string)),
        "generation" | "deletionGracePeriodSeconds" => value.is_i64(),
        "ownerReferences" => false,
        _ => value.is_string(),
    })
}
