//! The values that apply configurations make, `Object`, as JSON.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::patch::json::escape;
use kubewright_cel::{List, Map as CelMap, Value as Cel};
use serde_json::{Map, Number, Value};

/// A value as JSON.
///
/// # Errors
/// It has a map with keys that are no strings.
pub(super) fn to_json(value: &Cel<'_>) -> Result<Value, String> {
    Ok(match value {
        Cel::Null | Cel::Optional(None) => Value::Null,
        Cel::Bool(value) => Value::Bool(*value),
        Cel::Int(value) => Value::from(*value),
        Cel::Uint(value) => Value::from(*value),
        Cel::Double(value) => number(*value),
        Cel::List(list) => {
            let items: Result<Vec<Value>, String> =
                list.iter().map(|item| to_json(&item)).collect();
            Value::Array(items?)
        }
        Cel::Map(map) => {
            let mut members = Map::new();
            for (key, value) in map.entries() {
                let Some(name) = key.as_str() else {
                    let of = key.type_name();
                    return Err(format!("map key \"{key}\" is of type {of}, not string"));
                };
                members.insert(name.to_owned(), to_json(&value)?);
            }
            Value::Object(members)
        }
        Cel::Record(record) => {
            let members: Result<Map<String, Value>, String> = record
                .fields()
                .map(|(name, value)| Ok((name.to_owned(), to_json(value)?)))
                .collect();
            Value::Object(members?)
        }
        Cel::Bytes(bytes) => Value::String(STANDARD.encode(bytes)),
        Cel::Optional(Some(value)) => to_json(value)?,
        other => Value::String(other.to_string()),
    })
}

/// Whole numbers without a point, as JSON of the real server has them.
pub(super) fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole, and small enough")]
        let whole = value as i64;
        return Value::from(whole);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// Each part of an `Object` has to be of the type that its place names: `Object.spec` below `spec`.
///
/// # Errors
/// The types that do not match, one in each line.
pub(super) fn check_type_names(value: &Cel<'_>) -> Result<(), String> {
    let Cel::Record(record) = value else {
        return Ok(());
    };
    let mut wrong = Vec::new();
    check(value, record.name(), &mut wrong);
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("type mismatch: {}", wrong.join("\n")))
}

fn check(value: &Cel<'_>, place: &str, wrong: &mut Vec<String>) {
    match value {
        Cel::Record(record) => {
            let name = record.name();
            if name != place {
                wrong.push(format!(
                    "unexpected type name \"{name}\", expected \"{place}\", which matches field name path from root Object type"
                ));
            }
            for (field, value) in record.fields() {
                check(value, &format!("{place}.{field}"), wrong);
            }
        }
        Cel::List(list) => {
            for item in list.iter() {
                check(&item, place, wrong);
            }
        }
        Cel::Map(map) => {
            for (_, value) in map.entries() {
                check(&value, place, wrong);
            }
        }
        _ => {}
    }
}

/// The JSON pointers of the parts of an `Object` that stay values of the language: unsigned numbers, nulls, and lists and maps of an
/// expression that stand inside of others, of which the real server converts the outer one alone.
pub(super) fn unconverted(value: &Cel<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    find_unconverted(value, String::new(), false, &mut found);
    found
}

fn find_unconverted(value: &Cel<'_>, place: String, is_inside: bool, found: &mut BTreeSet<String>) {
    let stays = match value {
        Cel::Uint(_) | Cel::Null => true,
        Cel::List(list) => is_inside && (list.is_native() || matches!(list, List::Values(_))),
        Cel::Map(map) => is_inside && (map.is_native() || matches!(map, CelMap::Values(_))),
        _ => false,
    };
    if stays {
        found.insert(place);
        return;
    }
    match value {
        Cel::Record(record) => {
            for (name, value) in record.fields() {
                find_unconverted(value, below(&place, name), false, found);
            }
        }
        Cel::List(list) => {
            for (index, item) in list.iter().enumerate() {
                find_unconverted(&item, format!("{place}/{index}"), true, found);
            }
        }
        Cel::Map(map) => {
            for (key, value) in map.entries() {
                find_unconverted(&value, below(&place, &key.to_string()), true, found);
            }
        }
        _ => {}
    }
}

/// The JSON pointer of a field.
fn below(place: &str, name: &str) -> String {
    format!("{place}/{}", escape(name))
}

/// The fields of an `Object` that are lists without items, as JSON pointers.
pub(super) fn empty_lists(value: &Cel<'_>) -> Vec<String> {
    let mut found = Vec::new();
    find_empty_lists(value, String::new(), &mut found);
    found
}

fn find_empty_lists(value: &Cel<'_>, place: String, found: &mut Vec<String>) {
    match value {
        Cel::List(list) if list.is_empty() => found.push(place),
        Cel::Record(record) => {
            for (name, value) in record.fields() {
                find_empty_lists(value, below(&place, name), found);
            }
        }
        _ => {}
    }
}
