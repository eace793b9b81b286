//! The values that apply configurations make, `Object`, as JSON.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::patch::json::escape;
use kubewright_cel::{List, Map as CelMap, Value as Cel};
use serde_json::{Map, Number, Value};

/// A value as JSON.
///
/// # Errors
/// It has a map with keys that are no strings.
pub(super) fn to_json(value: &Cel<'_>) -> Result<Value, String> {
    json(value, Inner::Fails)
}

/// A configuration as JSON. An `Object` inside of it that cannot be converted stays an error there, which fits no field.
///
/// # Errors
/// It has itself a map with keys that are no strings.
pub(super) fn configuration(value: &Cel<'_>) -> Result<Value, String> {
    json(value, Inner::Stays)
}

/// What becomes of an `Object` inside of another one that cannot be converted.
#[derive(Clone, Copy, PartialEq)]
enum Inner {
    Fails,
    Stays,
}

fn json(value: &Cel<'_>, inner: Inner) -> Result<Value, String> {
    let part = |value: &Cel<'_>| match json(value, inner) {
        Err(why) if inner == Inner::Stays && matches!(value, Cel::Record(_)) => {
            Ok(Value::String(why))
        }
        other => other,
    };
    Ok(match value {
        Cel::Null | Cel::Optional(None) => Value::Null,
        Cel::Bool(value) => Value::Bool(*value),
        Cel::Int(value) => Value::from(*value),
        Cel::Uint(value) => Value::from(*value),
        // A configuration is merged as it is in memory, where a float stays one until the object is stored.
        Cel::Double(value) if inner == Inner::Stays => float(*value),
        Cel::Double(value) => number(*value),
        Cel::List(list) => {
            let items: Result<Vec<Value>, String> = list.iter().map(|item| part(&item)).collect();
            Value::Array(items?)
        }
        Cel::Map(map) => {
            let mut members = Map::new();
            for (key, value) in map.entries() {
                let name = key.as_str().ok_or_else(|| no_name(&key))?;
                members.insert(name.to_owned(), part(&value)?);
            }
            Value::Object(members)
        }
        Cel::Record(record) => {
            let members: Result<Map<String, Value>, String> = record
                .fields()
                .map(|(name, value)| {
                    let failed = |why| format!("fail to convert field {}: {why}", quoted(name));
                    Ok((name.to_owned(), part(value).map_err(failed)?))
                })
                .collect();
            Value::Object(members?)
        }
        Cel::Bytes(bytes) => Value::String(STANDARD.encode(bytes)),
        Cel::Optional(Some(value)) => json(value, inner)?,
        other => Value::String(other.to_string()),
    })
}

/// Why a key of a map is no name, in the words of Go, which shows a number as the character.
fn no_name(key: &Cel<'_>) -> String {
    let character = |number: Option<u32>| {
        let shown = number.and_then(char::from_u32).unwrap_or('\u{fffd}');
        let shown = quoted(&shown.to_string());
        let inside = &shown[1..shown.len() - 1];
        match inside {
            "\\\"" => "'\"'".to_owned(),
            "'" => r"'\''".to_owned(),
            inside => format!("'{inside}'"),
        }
    };
    let (shown, of) = match key {
        Cel::Int(number) => (character(u32::try_from(*number).ok()), "types.Int"),
        Cel::Uint(number) => (character(u32::try_from(*number).ok()), "types.Uint"),
        Cel::Bool(is) => (format!("%!q(types.Bool={is})"), "types.Bool"),
        other => (quoted(&other.to_string()), other.type_name()),
    };
    format!("map key {shown} is of type {of}, not string")
}

/// Whole numbers without a point, as JSON of the real server has them.
pub(super) fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole, and small enough")]
        let whole = value as i64;
        return Value::from(whole);
    }
    float(value)
}

fn float(value: f64) -> Value {
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
