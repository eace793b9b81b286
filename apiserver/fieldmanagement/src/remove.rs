//! Takes paths out of an object.

use serde_json::{Map, Value};

use super::set::Set;
use super::shape::{Atom, Items, Shape};

/// The value without the fields, map keys and list items in `gone`; null where nothing is left.
pub(super) fn remove(shape: Shape<'_>, value: &Value, gone: &Set) -> Value {
    match (shape.atom(Some(value)), value) {
        (Atom::Scalar(_), value) => value.clone(),
        (Atom::List(list), Value::Array(items)) if !matches!(list.items, Items::Atomic) => {
            let kept: Vec<Value> = items
                .iter()
                .filter_map(|item| {
                    let Ok(element) = list.element(item) else {
                        return Some(item.clone());
                    };
                    match gone.get(&element) {
                        Some(node) if node.member => None,
                        Some(node) => Some(remove(list.item(), item, &node.below)),
                        None => Some(item.clone()),
                    }
                })
                .collect();
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Array(kept)
            }
        }
        (Atom::Map(members), Value::Object(of)) if !members.atomic => {
            let mut kept = Map::new();
            for (name, value) in of {
                let value = match gone.get(&members.element(name)) {
                    Some(node) if node.member => continue,
                    Some(node) => match members.get(name) {
                        Some((shape, _)) => remove(shape, value, &node.below),
                        None => value.clone(),
                    },
                    None => value.clone(),
                };
                kept.insert(name.clone(), value);
            }
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Object(kept)
            }
        }
        // What is owned as a whole goes as a whole.
        _ => Value::Null,
    }
}
