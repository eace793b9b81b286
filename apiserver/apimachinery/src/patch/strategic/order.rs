//! Order of merged lists: the elements of the patch in the order of the patch, the other elements around them.

use serde_json::Value;

use super::error::{Result, failed, no_merge_key, wrong_type};
use crate::go_text::GoText;

/// Sorts `merged`: elements in `patch_order` by `patch_order`, the others by `server_order`. Where both orders apply to two
/// neighbours, `server_order` decides.
pub(super) fn arrange(
    merged: Vec<Value>,
    patch_order: &[Value],
    server_order: &[Value],
    key: &str,
) -> Vec<Value> {
    let (mut patched, mut server): (Vec<Value>, Vec<Value>) = merged
        .into_iter()
        .partition(|item| place(patch_order, item, key).is_some());
    patched.sort_by_key(|item| place(patch_order, item, key));
    server.sort_by_key(|item| place(server_order, item, key));
    let mut arranged = Vec::with_capacity(patched.len() + server.len());
    let mut patched = patched.into_iter().peekable();
    let mut server = server.into_iter().peekable();
    while let (Some(left), Some(right)) = (server.peek(), patched.peek()) {
        let places = (
            place(server_order, left, key),
            place(server_order, right, key),
        );
        let server_first = matches!(places, (Some(left), Some(right)) if left < right);
        arranged.extend(if server_first {
            server.next()
        } else {
            patched.next()
        });
    }
    arranged.extend(patched);
    arranged.extend(server);
    arranged
}

fn place(order: &[Value], item: &Value, key: &str) -> Option<usize> {
    if key.is_empty() {
        order.iter().position(|other| other == item)
    } else {
        let id = item.get(key)?;
        order.iter().position(|other| other.get(key) == Some(id))
    }
}

/// Checks that `$setElementOrder` lists all elements of the patch, in the order of the patch: the merge would lose the others.
pub(super) fn check_listed(patched: &[Value], wanted: &[Value], key: &str) -> Result<()> {
    if patched.is_empty() || wanted.is_empty() {
        return Ok(());
    }
    let mut wanted_ones = wanted.iter();
    for item in patched.iter().filter(|item| item.get("$patch").is_none()) {
        loop {
            let Some(other) = wanted_ones.next() else {
                let (patched, wanted) = (patched.to_vec().into(), wanted.to_vec().into());
                return Err(failed(format!(
                    "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                    GoText(&patched),
                    GoText(&wanted)
                )));
            };
            if id(item, key)? == id(other, key)? {
                break;
            }
        }
    }
    Ok(())
}

/// Returns the identity of an element: the value of the merge key, or the element itself.
pub(super) fn id<'a>(item: &'a Value, key: &str) -> Result<&'a Value> {
    match item {
        item if key.is_empty() => Ok(item),
        Value::Object(map) => match map.get(key) {
            Some(id) => Ok(id),
            None => Err(no_merge_key(map.clone(), key)),
        },
        other => Err(wrong_type("map[string]interface {}", other)),
    }
}
