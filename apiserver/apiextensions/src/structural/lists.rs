//! Items of lists that are sets or maps must differ.

use std::collections::HashMap;

use kubewright_apimachinery::field::{FieldError, Path};
use serde_json::{Map, Value};

use super::schema::{ListType, Schema};

/// Finds repeated items in the lists of an object.
pub(super) fn check(value: &Value, schema: &Schema, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(members) => {
            if let Some(additional) = schema.additional.schema() {
                for (key, value) in members {
                    check(value, additional, &path.key(key), errors);
                }
            }
            for (key, value) in members {
                if let Some(property) = schema.properties.get(key) {
                    check(value, property, &path.child(key), errors);
                }
            }
        }
        Value::Array(items) => {
            match &schema.list {
                ListType::Atomic | ListType::Unknown(_) => {}
                ListType::Set => repeated(items.iter(), path, errors),
                ListType::Map(keys) => keyed(items, keys, path, errors),
            }
            if let Some(below) = schema.items.as_deref() {
                for (index, item) in items.iter().enumerate() {
                    check(item, below, &path.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

fn keyed(items: &[Value], keys: &[String], path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let mut found = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let members = match item {
            Value::Object(members) => Some(members),
            Value::Null => None,
            other => {
                let detail = "must be an object for an array of list-type map";
                errors.push(FieldError::invalid(
                    &path.index(index),
                    other.clone(),
                    detail,
                ));
                return;
            }
        };
        let key: Map<String, Value> = keys
            .iter()
            .filter_map(|key| Some((key.clone(), members?.get(key)?.clone())))
            .collect();
        found.push(Value::Object(key));
    }
    repeated(found.iter(), path, errors);
}

/// An error at the second appearance of each value, none at later ones.
fn repeated<'v>(
    values: impl Iterator<Item = &'v Value>,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let mut times: HashMap<String, usize> = HashMap::new();
    for (index, value) in values.enumerate() {
        let times = times.entry(value.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            errors.push(FieldError::duplicate(&path.index(index), value.clone()));
        }
    }
}
