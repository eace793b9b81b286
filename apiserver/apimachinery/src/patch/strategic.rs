//! Strategic merge patch: a merge patch that knows which lists are merged by key.
//!
//! Which list merges by which key comes from the types of the kind, through [`Schema`].
//!
//! ```
//! use kubewright_apimachinery::meta::GroupVersionKind;
//! use kubewright_apimachinery::patch::strategic;
//! use kubewright_apimachinery::types;
//! use serde_json::{Value, json};
//!
//! let pods = GroupVersionKind::from_api_version_and_kind("v1", "Pod");
//! let mut pod = json!({"spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]}});
//! let patch = json!({"spec": {"containers": [{"name": "b", "image": "b:2"}, {"name": "a", "$patch": "delete"}]}});
//! let schema = strategic::Place::Object(types::root(&pods).unwrap());
//! if let (Value::Object(pod), Value::Object(patch)) = (&mut pod, patch) {
//!     strategic::apply(pod, patch, &schema)?;
//! }
//! assert_eq!(pod, json!({"spec": {"containers": [{"name": "b", "image": "b:2"}]}}));
//! # Ok::<(), strategic::StrategicError>(())
//! ```

mod error;
mod left;
mod order;
mod place;

use serde_json::{Map, Value};

pub use error::StrategicError;
use error::{Result, failed, no_merge_key, unknown_directive, wrong_type};
pub use left::left_of;
pub use place::Place;

use crate::go_text::{GoText, go_type};

/// How the type of an object says that its fields are merged.
pub trait Schema: Sized {
    /// How a map in this field is merged with another one.
    ///
    /// # Errors
    /// The type has no such field. The text is Go's.
    fn map(&self, name: &str) -> Result<Field<Self>>;

    /// How a list in this field is merged with another one; what is below are its elements.
    ///
    /// # Errors
    /// The type has no such field, or the field has no list. The text is Go's.
    fn list(&self, name: &str) -> Result<Field<Self>>;
}

/// What a [`Schema`] says of one field.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "made by implementations of `Schema`"
)]
pub struct Field<S> {
    /// How a value that stands on both sides is combined.
    pub strategy: Strategy,
    /// The key that tells the elements of a merged list apart; empty for lists of scalars.
    pub merge_key: String,
    /// What is below the field.
    pub below: S,
}

/// `x-kubernetes-patch-strategy`, without `retainKeys`, which only the patch itself decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the two ways there are")]
pub enum Strategy {
    /// Maps are merged, lists replaced.
    #[default]
    Default,
    /// Lists are merged by key.
    Merge,
    /// Maps and lists are replaced.
    Replace,
}

/// Merges `patch` into `document`, whose type is `schema`.
///
/// # Errors
/// The patch does not fit: `document` is then half patched and to be thrown away.
pub fn apply<S: Schema>(
    document: &mut Map<String, Value>,
    patch: Map<String, Value>,
    schema: &S,
) -> Result<()> {
    let original = std::mem::take(document);
    *document = merge_maps(original, patch, schema)?;
    Ok(())
}

fn merge_maps<S: Schema>(
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
    schema: &S,
) -> Result<Map<String, Value>> {
    match patch.get(PATCH).cloned() {
        None => {}
        Some(Value::String(word)) if word == "replace" => {
            patch.remove(PATCH);
            return Ok(patch);
        }
        Some(Value::String(word)) if word == "delete" => return Ok(Map::new()),
        Some(word) => return Err(unknown_directive(&word, patch)),
    }
    retain_keys(&mut original, &mut patch)?;
    set_element_orders(&mut original, &mut patch, schema)?;
    for (key, value) in patch {
        let (key, deletes) = match key.strip_prefix(DELETE_FROM_PRIMITIVE_LIST) {
            Some(name) => (name.to_owned(), true),
            None => (key, false),
        };
        if value.is_null() {
            original.remove(&key);
            continue;
        }
        let merged = match (original.remove(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                let field = schema.map(&key)?;
                Value::Object(match field.strategy {
                    Strategy::Replace => new,
                    Strategy::Default | Strategy::Merge => merge_maps(old, new, &field.below)?,
                })
            }
            (Some(Value::Array(old)), Value::Array(new)) if deletes => {
                schema.list(&key)?;
                Value::Array(old.into_iter().filter(|item| !new.contains(item)).collect())
            }
            (Some(Value::Array(mut old)), Value::Array(new)) => {
                Value::Array(merge_lists(&mut old, new, &schema.list(&key)?)?)
            }
            (Some(old), _) if deletes => old,
            (None, _) if deletes => continue,
            (Some(_), new) if !new.is_object() && !new.is_array() => new,
            (_, mut new) => {
                discard_nulls(&mut new);
                if !keeps(&mut new) {
                    continue;
                }
                new
            }
        };
        original.insert(key, merged);
    }
    Ok(original)
}

/// Combines two lists as their field says; the result has the order that clients rely on. Where a patch of scalars has none,
/// `original` is left as Go leaves it, which decides what order comes next.
fn merge_lists<S: Schema>(
    original: &mut Vec<Value>,
    patch: Vec<Value>,
    field: &Field<S>,
) -> Result<Vec<Value>> {
    if field.strategy != Strategy::Merge {
        return Ok(patch);
    }
    if original.is_empty() && patch.is_empty() {
        return Ok(Vec::new());
    }
    let mut items = original.iter().chain(&patch);
    let type_of_first = items.next().map_or("", go_type);
    if items.any(|item| go_type(item) != type_of_first) {
        let lists = Value::Array(vec![original.clone().into(), patch.into()]);
        return Err(failed(format!(
            "list element types are not identical: {}",
            GoText(&lists)
        )));
    }
    if type_of_first != "map[string]interface {}" {
        let mut both = original.clone();
        both.extend_from_slice(&patch);
        let left = deduplicate(&mut both);
        let merged = both[..left].to_vec();
        // Go appends nothing to a list in place, and takes what deduplication leaves there for the order of the server.
        if patch.is_empty() {
            *original = both;
        }
        return Ok(order::arrange(merged, &patch, original, ""));
    }
    let key = field.merge_key.as_str();
    if key.is_empty() {
        return Err(failed("cannot merge lists without merge key"));
    }
    let (original, patch) = list_directives(original.clone(), patch, key)?;
    let server_order = original.clone();
    let patch_order = patch.clone();
    let mut merged = original;
    for item in patch {
        let Value::Object(map) = item else { continue };
        let Some(id) = map.get(key).cloned() else {
            return Err(no_merge_key(map, key));
        };
        let place = place_of(&merged, key, &id)?;
        if let Some(place) = place {
            let Value::Object(old) = merged[place].take() else {
                continue;
            };
            merged[place] = Value::Object(merge_maps(old, map, &field.below)?);
        } else {
            merged.push(Value::Object(map));
        }
    }
    // Elements without a key have no place in an order, be they stored ones that no element of the patch names.
    if let Some(Value::Object(map)) = merged.iter().find(|item| item.get(key).is_none()) {
        return Err(no_merge_key(map.clone(), key));
    }
    Ok(order::arrange(merged, &patch_order, &server_order, key))
}

/// Moves the last items into the places of those that are there again, as Go's patches do. Returns how many there are.
fn deduplicate(items: &mut [Value]) -> usize {
    let mut left = items.len();
    let mut first = 0;
    while first + 1 < left {
        let mut again = first + 1;
        while again < left {
            if items[first] == items[again] {
                left -= 1;
                items[again] = items[left].clone();
            } else {
                again += 1;
            }
        }
        first += 1;
    }
    left
}

/// Carries out every `$setElementOrder/<list>` of the patch, with the list it belongs to.
fn set_element_orders<S: Schema>(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    schema: &S,
) -> Result<()> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|key| key.starts_with(SET_ELEMENT_ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let name = directive[SET_ELEMENT_ORDER.len()..].to_owned();
        let wanted = list(patch.remove(&directive))?.unwrap_or_default();
        let field = schema.list(&name)?;
        if field.strategy != Strategy::Merge {
            continue;
        }
        let key = field.merge_key.as_str();
        let server = list(original.remove(&name))?;
        let patched = match patch.remove(&name) {
            None => None,
            Some(Value::Null) => {
                patch.insert(name, Value::Null);
                continue;
            }
            given => list(given)?,
        };
        if server.is_none() && patched.is_none() {
            continue;
        }
        order::check_listed(patched.as_deref().unwrap_or_default(), &wanted, key)?;
        for item in &wanted {
            order::id(item, key)?;
        }
        let is_new = server.is_none();
        let mut server = server.unwrap_or_default();
        let merged = match patched {
            None => server.clone(),
            Some(mut new) if is_new => {
                new.retain_mut(keeps);
                new
            }
            Some(patched) => merge_lists(&mut server, patched, &field)?,
        };
        original.insert(
            name,
            Value::Array(order::arrange(merged, &wanted, &server, key)),
        );
    }
    Ok(())
}

fn list(value: Option<Value>) -> Result<Option<Vec<Value>>> {
    match value {
        None => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list)),
        Some(other) => Err(wrong_type("[]interface {}", &other)),
    }
}

/// Where the element with this key stands; those before it must have one.
fn place_of(items: &[Value], key: &str, id: &Value) -> Result<Option<usize>> {
    for (place, item) in items.iter().enumerate() {
        match (item.get(key), item) {
            (Some(found), _) if found == id => return Ok(Some(place)),
            (None, Value::Object(map)) => return Err(no_merge_key(map.clone(), key)),
            _ => {}
        }
    }
    Ok(None)
}

/// Carries out `$patch: delete` and `$patch: replace` elements.
fn list_directives(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>)> {
    let mut rest = Vec::with_capacity(patch.len());
    let mut replace = false;
    for item in patch {
        let Value::Object(map) = &item else { continue };
        match map.get(PATCH) {
            None => rest.push(item),
            Some(Value::String(word)) if word == "delete" => {
                let Some(id) = map.get(key) else {
                    return Err(no_merge_key(map.clone(), key));
                };
                original.retain(|old| old.get(key) != Some(id));
            }
            Some(Value::String(word)) if word == "replace" => replace = true,
            Some(Value::String(word)) if word == "merge" => {
                return Err(failed("merging lists cannot yet be specified in the patch"));
            }
            Some(word) => return Err(unknown_directive(word, map.clone())),
        }
    }
    if replace {
        original.clear();
    }
    Ok((original, rest))
}

/// Carries out `$retainKeys`: keys of the original that are not listed go.
fn retain_keys(original: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<()> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let Value::Array(keys) = keys else {
        return Err(StrategicError::Format("invalid patch format of retainKeys"));
    };
    let listed = |name: &str| keys.iter().any(|key| key.as_str() == Some(name));
    let directive = |name: &str| {
        name.starts_with(DELETE_FROM_PRIMITIVE_LIST) || name.starts_with(SET_ELEMENT_ORDER)
    };
    let set = |(key, value): (&String, &Value)| !directive(key) && !value.is_null() && !listed(key);
    if patch.iter().any(set) {
        return Err(StrategicError::Format("invalid patch format of retainKeys"));
    }
    original.retain(|key, _| listed(key));
    Ok(())
}

/// Removes the nulls of a value that comes to where nothing was.
fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(discard_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// Removes every map that holds a `$patch`, since nothing is there for it to act on; says whether the value itself stays.
fn keeps(value: &mut Value) -> bool {
    match value {
        Value::Object(map) if map.contains_key(PATCH) => return false,
        Value::Object(map) => map.retain(|_, value| keeps(value)),
        Value::Array(list) => list.retain_mut(keeps),
        _ => {}
    }
    true
}

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ELEMENT_ORDER: &str = "$setElementOrder/";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList/";

#[cfg(test)]
mod tests;
