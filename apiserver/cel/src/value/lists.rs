//! Lists that are sets or maps: their order does not count, and joined lists have nothing twice.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{List, Value};
use crate::declared::Items;
use crate::failure::Failure;

/// The first list with the items that only the second one has. In a map, items with the same keys replace the first one's.
pub(crate) fn join<'a>(left: &List<'a>, right: &List<'a>) -> Result<List<'a>, Failure> {
    let mut items: Vec<Value<'a>> = left.iter().collect();
    let kind = left.kind().clone();
    match &kind {
        Items::Ordered | Items::Unknown(_) => {
            items.extend(right.iter());
            return Ok(List::Values(Arc::new(items)));
        }
        Items::Set => {
            let mut known = known(left)?;
            for item in right.iter() {
                if known.insert(scalar(&item)?) {
                    items.push(item);
                }
            }
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

/// The items of a set.
pub(super) fn known(list: &List<'_>) -> Result<HashSet<String>, Failure> {
    list.iter().map(|item| scalar(&item)).collect()
}

/// The text of an item of a set, which has to be a scalar.
pub(super) fn scalar(item: &Value<'_>) -> Result<String, Failure> {
    if matches!(item, Value::List(_) | Value::Map(_)) {
        let why = "listSet operations are only supported on lists of scalar values";
        return Err(Failure::new(why));
    }
    Ok(text(item))
}

/// A text that tells a scalar from all others.
fn text(item: &Value<'_>) -> String {
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
