//! Merging without a manager: what a mutating policy applies.

use std::fmt::Write as _;

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_registry::Registry;
use serde_json::Value;

use super::check::{Duplicates, check};
use super::merge::merge;
use super::shape::{Atom, Items, Shape};
use super::track::shown;

/// Merges the configuration of a mutating policy into an object. Nobody owns what it sets.
///
/// # Errors
/// The kind has no schema, the configuration does not match it, or it sets a list, map or struct that can only be replaced as a
/// whole.
pub fn merge_unowned(
    registry: &Registry,
    kind: &GroupVersionKind,
    object: &Value,
    configuration: &Value,
) -> Result<Value, String> {
    let shape = Shape::of_kind(registry, kind)
        .ok_or_else(|| format!("no corresponding type for {}", shown(kind)))?;
    check(shape, configuration, Duplicates::Refused)
        .map_err(|why| format!("failed to convert patch object to typed object: {why}"))?;
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
