//! The values that mutations make, `Object` and `JSONPatch`, as JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_cel::{Record, Value as Cel};
use serde_json::{Map, Number, Value, json};

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
fn number(value: f64) -> Value {
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

/// Where an `Object` has an unsigned integer, which no field may be set to.
pub(super) fn find_unsigned(value: &Cel<'_>, path: &str) -> Option<String> {
    match value {
        Cel::Uint(_) => Some(path.to_owned()),
        Cel::Record(record) => record
            .fields()
            .find_map(|(name, value)| find_unsigned(value, &format!("{path}.{name}"))),
        Cel::List(list) => list
            .iter()
            .enumerate()
            .find_map(|(index, item)| find_unsigned(&item, &format!("{path}[{index}]"))),
        Cel::Map(map) => map
            .entries()
            .iter()
            .find_map(|(key, value)| find_unsigned(value, &format!("{path}.{key}"))),
        _ => None,
    }
}

/// A list of `JSONPatch` as the document of a JSON patch.
///
/// # Errors
/// A value that is no JSON, or with parts of the wrong type.
pub(super) fn operations(value: &Cel<'_>) -> Result<Value, String> {
    let Cel::List(list) = value else {
        return Err("type mismatch: JSONPatchType.expression should evaluate to array".to_owned());
    };
    let mut operations = Vec::with_capacity(list.len());
    for item in list.iter() {
        let Cel::Record(operation) = &item else {
            let of = item.type_name();
            return Err(format!(
                "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch, got element of {of}"
            ));
        };
        operations.push(operation_of(operation)?);
    }
    Ok(Value::Array(operations))
}

fn operation_of(operation: &Record<'_>) -> Result<Value, String> {
    let mut members = json!({"op": "", "path": ""});
    for (name, value) in operation.fields() {
        let value = match name {
            "value" => {
                check_type_names(value)?;
                to_json(value)?
            }
            // An empty `from` is none.
            "from" if value.as_str() == Some("") => continue,
            _ => Value::from(value.as_str().unwrap_or_default()),
        };
        members[name] = value;
    }
    Ok(members)
}
