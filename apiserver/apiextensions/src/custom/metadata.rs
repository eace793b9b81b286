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
    members.iter().all(|(name, value)| match (&**name, value) {
        ("managedFields", _) => true,
        ("labels" | "annotations", Value::Object(members)) => {
            members.values().all(Value::is_string)
        }
        ("finalizers", Value::Array(items)) => items.iter().all(Value::is_string),
        ("ownerReferences", Value::Array(items)) => items.iter().all(is_owner),
        ("generation" | "deletionGracePeriodSeconds", value) => value.is_i64(),
        ("labels" | "annotations" | "finalizers" | "ownerReferences", _) => false,
        (_, value) => value.is_string(),
    })
}

fn is_owner(reference: &Value) -> bool {
    let members = reference.as_object();
    members.is_some_and(|members| {
        members.iter().all(|(name, value)| match &**name {
            "controller" | "blockOwnerDeletion" => value.is_boolean(),
            _ => value.is_string(),
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_of_their_types_are_seen_to_be_so_without_a_copy() {
        let owner =
            json!({"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u", "controller": true});
        let whole = json!({
            "name": "n", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"a": "b"}, "annotations": {}, "finalizers": ["a/b"], "ownerReferences": [owner], "managedFields": [{}],
        });
        assert!(has_types(&whole) && has_types(&Value::Null));
        for (field, wrong) in [
            ("labels", json!({"a": 1})),
            ("labels", json!("a")),
            ("finalizers", json!([1])),
            ("ownerReferences", json!([{"uid": 1}])),
            ("ownerReferences", json!([1])),
            ("generation", json!("1")),
            ("name", json!(1)),
        ] {
            let mut metadata = whole.clone();
            metadata[field] = wrong;
            let object = json!({"metadata": metadata});
            assert!(unreadable(&object).is_some(), "{metadata}");
        }
    }
}
