//! Merging without a manager: what a mutating policy applies.

use std::fmt::Write as _;

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_registry::Registry;
use serde_json::Value;

use super::check::{Duplicates, check};
use super::merge::merge;
use super::shape::{Atom, Items, Scalar, Shape};
use super::track::shown;

/// Merges the configuration of a mutating policy into an object. No manager owns what it sets. `is_value` says whether the null at
/// a path is the expression's own, which is a value and of no field's type; others are nothing, which fits every field.
///
/// # Errors
/// The kind has no schema, the configuration does not match it, or it sets a list, map or struct that can only be replaced as a
/// whole.
pub fn merge_unowned(
    registry: &Registry,
    kind: &GroupVersionKind,
    object: &Value,
    configuration: &Value,
    is_value: impl Fn(&str) -> bool,
) -> Result<Value, String> {
    let failed = |why: String| format!("failed to convert patch object to typed object: {why}");
    // Only what discovery shows has a schema there: no Scale, and no options of a connection.
    let served = registry.find_kind(kind).is_some();
    let shape = Shape::of_kind(registry, kind).filter(|_| served);
    let shape =
        shape.ok_or_else(|| failed(format!("no corresponding type for {}", shown(kind))))?;
    check(shape, configuration, Duplicates::Refused).map_err(failed)?;
    let mut nulls = Vec::new();
    find_nulls(shape, configuration, &mut String::new(), &mut nulls);
    if let Some((path, why)) = nulls.into_iter().find(|(path, _)| is_value(path)) {
        return Err(failed(format!("{path}: {why}")));
    }
    let mut atomics = Vec::new();
    find_atomics(shape, configuration, &mut String::new(), &mut atomics);
    if !atomics.is_empty() {
        let atomics = atomics.join(", ");
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {atomics}"
        ));
    }
    check(shape, object, Duplicates::Allowed)
        .map_err(|why| format!("failed to convert original object to typed object: {why}"))?;
    merge(shape, object, configuration).map_err(|why| format!("failed to merge patch: {why}"))
}

/// The nulls, each with its path and why no field there may be set to it.
fn find_nulls(
    shape: Shape<'_>,
    value: &Value,
    path: &mut String,
    found: &mut Vec<(String, &'static str)>,
) {
    let length = path.len();
    match (shape.atom(Some(value)), value) {
        (Atom::Scalar(scalar), Value::Null) => {
            let why = match scalar {
                Scalar::Text => "expected string, got &value.valueUnstructured{Value:0}",
                Scalar::Number => "expected numeric (int or float), got structpb.NullValue",
                Scalar::Bool => "expected boolean, got &{NULL_VALUE}",
                Scalar::Any => return,
            };
            found.push((path.clone(), why));
        }
        (Atom::List(_), Value::Null) => {
            found.push((path.clone(), "expected list, got &{NULL_VALUE}"));
        }
        (Atom::Map(_), Value::Null) => {
            found.push((path.clone(), "expected map, got &{NULL_VALUE}"));
        }
        (Atom::Map(members), Value::Object(map)) => {
            for (name, value) in map {
                if let Some((shape, _)) = members.get(name) {
                    let _ = write!(path, ".{name}");
                    find_nulls(shape, value, path, found);
                    path.truncate(length);
                }
            }
        }
        (Atom::List(list), Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                let _ = write!(path, "[{index}]");
                find_nulls(list.item(), item, path, found);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

/// The paths of what can only be replaced as a whole.
fn find_atomics(shape: Shape<'_>, value: &Value, path: &mut String, found: &mut Vec<String>) {
    let length = path.len();
    match (shape.atom(Some(value)), value) {
        (Atom::Map(members), Value::Object(map)) => {
            if members.atomic {
                found.push(path.clone());
            }
            for (name, value) in map {
                // The entries of a map are not looked at.
                if let Some((shape, true)) = members.get(name) {
                    let _ = write!(path, ".{name}");
                    find_atomics(shape, value, path, found);
                    path.truncate(length);
                }
            }
        }
        (Atom::List(list), Value::Array(items)) => {
            if matches!(list.items, Items::Atomic) {
                found.push(path.clone());
            }
            for (index, item) in items.iter().enumerate() {
                let _ = write!(path, "[{index}]");
                find_atomics(list.item(), item, path, found);
                path.truncate(length);
            }
        }
        _ => {}
    }
}
