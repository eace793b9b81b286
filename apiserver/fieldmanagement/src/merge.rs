//! Merges what is applied into the live object: nothing is removed, and where both say something the applied value holds.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::element::Element;
use super::shape::{Atom, Items, List, Members, Shape};

/// Merges `applied` into `live`.
///
/// # Errors
/// A list item that cannot be told apart from others.
pub(super) fn merge(shape: Shape<'_>, live: &Value, applied: &Value) -> Result<Value, String> {
    Ok(walk(shape, Some(live), Some(applied))?.unwrap_or(Value::Null))
}

fn walk(
    shape: Shape<'_>,
    live: Option<&Value>,
    applied: Option<&Value>,
) -> Result<Option<Value>, String> {
    let value = if applied.is_some() { applied } else { live };
    let rule = || Ok(value.cloned());
    match shape.atom(value) {
        Atom::Scalar(_) => rule(),
        Atom::List(list) => {
            let (mine, theirs) = (items(live), items(applied));
            if matches!(list.items, Items::Atomic) || mine.is_empty() && theirs.is_empty() {
                return rule();
            }
            merge_items(list, mine, theirs)
        }
        Atom::Map(members) => {
            let (mine, theirs) = (object(live), object(applied));
            let nothing = |map: Option<&Map<String, Value>>| map.is_none_or(Map::is_empty);
            if members.atomic || nothing(mine) && nothing(theirs) {
                return rule();
            }
            merge_members(members, mine, theirs)
        }
    }
}

fn merge_members(
    members: Members<'_>,
    live: Option<&Map<String, Value>>,
    applied: Option<&Map<String, Value>>,
) -> Result<Option<Value>, String> {
    let empty = Map::new();
    let (live, applied) = (live.unwrap_or(&empty), applied.unwrap_or(&empty));
    let mut merged = Map::new();
    let names = live
        .keys()
        .chain(applied.keys().filter(|name| !live.contains_key(*name)));
    for name in names {
        let (mine, theirs) = (live.get(name), applied.get(name));
        let out = match (members.get(name), theirs) {
            // Nothing is applied here, so everything stays.
            (_, None) => mine.cloned(),
            (Some((shape, _)), _) => walk(shape, mine, theirs)?,
            (None, _) => theirs.cloned(),
        };
        if let Some(out) = out {
            merged.insert(name.clone(), out);
        }
    }
    Ok((!merged.is_empty()).then_some(Value::Object(merged)))
}

/// Items that both have stand in the order of what is applied; those of the live object alone keep their place between them.
fn merge_items(list: List<'_>, live: &[Value], applied: &[Value]) -> Result<Option<Value>, String> {
    let elements = |items: &[Value]| {
        let elements = items.iter().map(|item| list.element(item));
        elements.collect::<Result<Vec<Element>, _>>()
    };
    let (mine, theirs) = (elements(live)?, elements(applied)?);
    // An item that is applied twice was refused before.
    let in_applied: BTreeSet<&Element> = theirs.iter().collect();
    // Items that the live object has several times are not merged with.
    let mut in_live: BTreeMap<&Element, Option<&Value>> = BTreeMap::new();
    for (element, item) in mine.iter().zip(live) {
        in_live
            .entry(element)
            .and_modify(|item| *item = None)
            .or_insert(Some(item));
    }
    let live_of = |element: &Element| in_live.get(element).copied().flatten();
    let mut shared = theirs
        .iter()
        .filter(|element| in_live.contains_key(element));
    let mut next_shared = shared.next();
    let mut merged: BTreeSet<&Element> = BTreeSet::new();
    let mut out = Vec::with_capacity(live.len().max(applied.len()));
    let (mut left, mut right) = (0, 0);
    while left < live.len() || right < applied.len() {
        if left < live.len() && right < applied.len() {
            let element = &mine[left];
            if *element == theirs[right] {
                merged.insert(&theirs[right]);
                out.extend(walk(list.item(), live_of(element), Some(&applied[right]))?);
                left += 1;
                right += 1;
                next_shared = shared.next();
                continue;
            }
            let is_shared = in_applied.contains(element);
            if is_shared && next_shared.is_some_and(|next| next != element) {
                // It comes later, where what is applied has it.
                left += 1;
                continue;
            }
        }
        if left < live.len() {
            let element = &mine[left];
            if !in_applied.contains(element) {
                out.push(live[left].clone());
                left += 1;
                continue;
            }
            if merged.contains(&element) {
                left += 1;
            }
        }
        if right < applied.len() {
            let element = &theirs[right];
            merged.insert(element);
            out.extend(walk(list.item(), live_of(element), Some(&applied[right]))?);
            right += 1;
            if next_shared == Some(element) {
                next_shared = shared.next();
            }
        }
    }
    Ok((!out.is_empty()).then_some(Value::Array(out)))
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn object(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}
