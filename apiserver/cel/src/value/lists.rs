//! Lists that are sets or maps: their order does not count, and joined lists have nothing twice.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value as Json;

use super::{List, Value};
use crate::declared::Items;
use crate::failure::Failure;

/// The first list with the items that only the second one has. In a map, items with the same keys replace the first one's.
pub(crate) fn join<'a>(left: &List<'a>, right: &List<'a>) -> Result<List<'a>, Failure> {
    let mut items: Vec<Value<'a>> = left.iter().collect();
    let kind = left.kind().clone();
    match &kind {
        Items::Ordered => {
            items.extend(right.iter());
            return Ok(List::Values(Arc::new(items)));
        }
        Items::Set => {
            let mut known = known(left)?;
            items.extend(right.iter().filter(|item| known.insert(text(item))));
        }
        Items::Keyed(keys) => {
            let mut places: HashMap<String, usize> = items
                .iter()
                .enumerate()
                .map(|(place, item)| (key(item, keys), place))
                .collect();
            for item in right.iter() {
                let key = key(&item, keys);
                if let Some(place) = places.get(&key) {
                    items[*place] = item;
                } else {
                    places.insert(key, items.len());
                    items.push(item);
                }
            }
        }
    }
    Ok(List::Joined(Arc::new(items), kind))
}

/// The items of a set that others can be equal to. The real server keeps items as JSON and compares them with values of their
/// declared type, so a whole number of type `number`, a time or a duration is equal to nothing.
pub(super) fn known(list: &List<'_>) -> Result<HashSet<String>, Failure> {
    let List::Declared(elements, _) = list else {
        return Ok(list.iter().map(|item| text(&item)).collect());
    };
    elements.iter().try_for_each(hash)?;
    let is_found = |(element, item): &(&Json, Value<'_>)| match (element, item) {
        (Json::Number(number), Value::Double(_)) => number.is_f64(),
        (Json::Number(_), Value::Int(_)) | (Json::Bool(_), Value::Bool(_)) => true,
        (Json::String(_), item) => item.type_name() == "string",
        _ => false,
    };
    let items = elements.iter().zip(list.iter()).filter(is_found);
    Ok(items.map(|(_, item)| text(&item)).collect())
}

/// The items are keys of a Go map there, which lists and objects cannot be.
fn hash(element: &Json) -> Result<(), Failure> {
    let ty = match element {
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
        _ => return Ok(()),
    };
    let why = format!("internal error: runtime error: hash of unhashable type {ty}");
    Err(Failure::new(why))
}

/// A text that tells a scalar from all others.
pub(super) fn text(item: &Value<'_>) -> String {
    format!("{}\0{item}", item.type_name())
}

pub(super) fn key(item: &Value<'_>, keys: &[String]) -> String {
    let Value::Map(members) = item else {
        return text(item);
    };
    let parts = keys.iter().map(|key| {
        let value = members.named(key);
        value.map_or_else(String::new, |value| text(&value))
    });
    parts.collect::<Vec<_>>().join("\0")
}
