//! The metadata of objects inside of objects: held to its type, and checked.

use kubewright_apimachinery::conform::conform_type;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::{Edit, View};
use kubewright_validation::metadata;
use serde_json::{Map, Value};

use super::schema::Schema;

const OBJECT_META: &str = "apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Holds `metadata` to its type; the paths below it of fields that metadata does not have, which go.
///
/// # Errors
/// The text of Go's decoder, when something has the wrong type.
pub(crate) fn coerce_metadata(metadata: &mut Value) -> Result<Vec<String>, String> {
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    let conformed = conform_type(OBJECT_META, metadata)?;
    if let Value::Object(members) = metadata {
        // Go leaves out what is empty when it writes the object again.
        members.retain(|_, value| !is_empty(value));
    }
    Ok(conformed.unknown)
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

/// Holds the metadata of every object inside of `value` to its type; the paths of fields that go.
///
/// # Errors
/// The first wrong type that is found.
pub(super) fn coerce(
    value: &mut Value,
    schema: &Schema,
    embedded: bool,
    path: &Path<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), FieldError> {
    match value {
        Value::Object(members) => {
            if embedded {
                coerce_object(members, path, unknown)?;
            }
            for (key, value) in members {
                if let Some(property) = schema.properties.get(key) {
                    coerce(
                        value,
                        property,
                        property.embedded,
                        &path.child(key),
                        unknown,
                    )?;
                } else if let Some(below) = schema.additional.schema() {
                    coerce(value, below, below.embedded, &path.key(key), unknown)?;
                }
            }
        }
        Value::Array(items) => {
            if let Some(below) = schema.items.as_deref() {
                for (index, item) in items.iter_mut().enumerate() {
                    coerce(item, below, below.embedded, &path.index(index), unknown)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn coerce_object(
    members: &mut Map<String, Value>,
    path: &Path<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), FieldError> {
    for key in ["apiVersion", "kind"] {
        if let Some(value) = members.get(key).filter(|value| !value.is_string()) {
            return Err(FieldError::invalid(
                &path.child(key),
                value.clone(),
                "must be a string",
            ));
        }
    }
    let Some(metadata) = members.get_mut("metadata") else {
        return Ok(());
    };
    let path = path.child("metadata");
    let before = metadata.clone();
    let found =
        coerce_metadata(metadata).map_err(|text| FieldError::invalid(&path, before, &text))?;
    unknown.extend(found.iter().map(|field| format!("{path}.{field}")));
    if metadata.at("creationTimestamp").is_null() {
        Edit::drop_field(metadata, "creationTimestamp");
    }
    Ok(())
}

/// Checks type and metadata of every object inside of `value`.
pub(super) fn validate(
    value: &Value,
    schema: &Schema,
    embedded: bool,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    match value {
        Value::Object(members) => {
            if embedded {
                validate_object(value, path, errors);
            }
            for (key, value) in members {
                if let Some(property) = schema.properties.get(key) {
                    validate(value, property, property.embedded, &path.child(key), errors);
                } else if let Some(below) = schema.additional.schema() {
                    validate(value, below, below.embedded, &path.key(key), errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(below) = schema.items.as_deref() {
                for (index, item) in items.iter().enumerate() {
                    validate(item, below, below.embedded, &path.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

fn validate_object(object: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for field in ["apiVersion", "kind"] {
        if object.get(field).is_none() {
            errors.push(FieldError::required(&path.child(field), ""));
        }
    }
    if let Some(version) = object.get("apiVersion") {
        let path = path.child("apiVersion");
        match version.as_str() {
            None => errors.push(not_a_text(&path, version)),
            Some("") => errors.push(FieldError::invalid(&path, "", "must not be empty")),
            Some(text) if text.matches('/').count() > 1 => {
                let detail = format!("unexpected GroupVersion string: {text}");
                errors.push(FieldError::invalid(&path, text, &detail));
            }
            Some(_) => {}
        }
    }
    if let Some(kind) = object.get("kind") {
        let path = path.child("kind");
        match kind.as_str() {
            None => errors.push(not_a_text(&path, kind)),
            Some("") => errors.push(FieldError::invalid(&path, "", "must not be empty")),
            Some(text) => {
                let found = names::dns1035_label(&text.to_lowercase());
                if !found.is_empty() {
                    let detail = format!(
                        "may have mixed case, but should otherwise match: {}",
                        found.join(",")
                    );
                    errors.push(FieldError::invalid(&path, text, &detail));
                }
            }
        }
    }
    if let Some(metadata) = object.get("metadata") {
        let path = path.child("metadata");
        let mut typed = metadata.clone();
        match coerce_metadata(&mut typed) {
            Err(text) => errors.push(FieldError::invalid(&path, metadata.clone(), &text)),
            Ok(_) => metadata::embedded(&typed, &path, errors),
        }
    }
}

fn not_a_text(path: &Path<'_>, value: &Value) -> FieldError {
    FieldError::invalid(path, value.clone(), "must be a string")
}
