//! The order of merged lists: elements of the patch as the patch orders them, the server's own kept around them.

use serde_json::{Map, Value};

use super::{Result, SET_ELEMENT_ORDER, Schema, StrategicError, Strategy, merge_lists};

/// Carries out every `$setElementOrder/<list>` of the patch, with the list it belongs to.
pub(super) fn set_element_orders<S: Schema>(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    schema: Option<&S>,
) -> Result<()> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|key| key.starts_with(SET_ELEMENT_ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let name = directive[SET_ELEMENT_ORDER.len()..].to_owned();
        let wanted = list(patch.remove(&directive), &directive)?.unwrap_or_default();
        let field = schema.and_then(|schema| schema.field(&name));
        let Some(field) = field.filter(|field| field.strategy == Strategy::Merge) else {
            continue;
        };
        let key = field.merge_key.as_str();
        let server = list(original.remove(&name), &name)?;
        let patched = match patch.remove(&name) {
            None => None,
            Some(Value::Null) => {
                patch.insert(name, Value::Null);
                continue;
            }
            given => list(given, &name)?,
        };
        if server.is_none() && patched.is_none() {
            continue;
        }
        let server = server.unwrap_or_default();
        check_listed(patched.as_deref().unwrap_or_default(), &wanted, key, &name)?;
        let merged = merge_lists(server.clone(), patched.unwrap_or_default(), Some(&field))?;
        original.insert(name, Value::Array(arrange(merged, &wanted, &server, key)));
    }
    Ok(())
}

/// Orders `merged`: what `patch_order` names stands in its order, the rest in `server_order`, and where both say
/// something about two neighbours the server's order decides.
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

/// Every element of the patch must be named in the order, else the order would lose it.
fn check_listed(patched: &[Value], wanted: &[Value], key: &str, name: &str) -> Result<()> {
    let deleted = |item: &Value| item.get("$patch").is_some();
    if patched
        .iter()
        .all(|item| deleted(item) || place(wanted, item, key).is_some())
    {
        return Ok(());
    }
    let text =
        format!("the order in setElementOrder list {name} does not name all of its elements");
    Err(StrategicError::Malformed(text))
}

fn list(value: Option<Value>, name: &str) -> Result<Option<Vec<Value>>> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list)),
        Some(_) => Err(StrategicError::Malformed(format!("{name} must be a list"))),
    }
}
