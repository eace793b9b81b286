//! What the two-variable comprehensions build maps with.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::declaration::{Declaration, Evaluated, guarded};
use crate::failure::Failure;
use crate::value::{Key, Map, Value};

pub(super) const DECLARATIONS: &[Declaration] = &[
    guarded(
        "cel.@mapInsert",
        "@mapInsert_map_key_value",
        "(map(K, V), K, V) -> map(K, V)",
        insert,
    ),
    guarded(
        "cel.@mapInsert",
        "@mapInsert_map_map",
        "(map(K, V), map(K, V)) -> map(K, V)",
        insert,
    ),
];

fn insert<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let [Value::Map(map), more @ ..] = values else {
        return Err(Failure::no_such_overload());
    };
    let mut entries = BTreeMap::new();
    for (key, value) in map.entries() {
        put(&mut entries, &key, value)?;
    }
    insert_entries(&mut entries, more)?;
    Ok(Value::Map(Map::Values(Arc::new(entries))))
}

/// Adds a key and its value, or all entries of a map; a key that is there already is an error.
pub(crate) fn insert_entries<'a>(
    entries: &mut BTreeMap<Key<'a>, Value<'a>>,
    more: &[Value<'a>],
) -> Result<(), Failure> {
    match more {
        [key, value] => put(entries, key, value.clone()),
        [Value::Map(map)] => map
            .entries()
            .into_iter()
            .try_for_each(|(key, value)| put(entries, &key, value)),
        _ => Err(Failure::no_such_overload()),
    }
}

fn put<'a>(
    entries: &mut BTreeMap<Key<'a>, Value<'a>>,
    key: &Value<'a>,
    value: Value<'a>,
) -> Result<(), Failure> {
    let known = Key::of(key).ok_or_else(|| Failure::new("unsupported key type"))?;
    if entries.contains_key(&known) {
        return Err(Failure::new(format!(
            "insert failed: key {key} already exists"
        )));
    }
    entries.insert(known, value);
    Ok(())
}
