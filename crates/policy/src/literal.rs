//! The values that mutations make, as JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_cel::{Record, Value as Cel};
use serde_json::{Map, Number, Value, json};

/// A value as JSON.
///
/// # Errors
/// It has a map with keys that are no strings.
pub(crate) fn to_json(value: &Cel<'_>) -> Result<Value, String> {
    Ok(match value {
        Cel::Null | Cel::Optional(None) => Value::Null,
        Cel::Optional(Some(value)) => to_json(value)?,
        Cel::Bool(value) => json!(value),
        Cel::Int(value) => json!(value),
        Cel::Uint(value) => json!(value),
        Cel::Double(value) => number(*value),
        Cel::Bytes(bytes) => json!(STANDARD.encode(bytes)),
        Cel::List(list) => {
            let items: Result<_, String> = list.iter().map(|item| to_json(&item)).collect();
            Value::Array(items?)
        }
        Cel::Map(map) => {
            let mut members = Map::new();
            for (key, value) in map.entries() {
                let name = key.as_str().ok_or_else(|| {
                    format!(
                        "the key {key} of a map is {}, and no string",
                        key.type_name()
                    )
                })?;
                members.insert(name.to_owned(), to_json(&value)?);
            }
            Value::Object(members)
        }
        Cel::Record(record) => {
            let members: Result<_, String> = record
                .fields()
                .map(|(name, value)| Ok((name.to_owned(), to_json(value)?)))
                .collect();
            Value::Object(members?)
        }
        other => json!(other.to_string()),
    })
}

/// Whole numbers have no point.
fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole, and small enough")]
        let whole = value as i64;
        return json!(whole);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// Each part of an `Object` has the type that its place names: `Object.spec` below `spec`.
///
/// # Errors
/// The types that do not fit, one in each line.
pub(crate) fn check_type_names(value: &Cel<'_>) -> Result<(), String> {
    let mut wrong = Vec::new();
    if let Cel::Record(record) = value {
        check_record(record, record.name(), &mut wrong);
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("type mismatch: {}", wrong.join("\n")))
}

fn check(value: &Cel<'_>, place: &str, wrong: &mut Vec<String>) {
    match value {
        Cel::Record(record) => check_record(record, place, wrong),
        Cel::List(list) => list.iter().for_each(|item| check(&item, place, wrong)),
        Cel::Map(map) => {
            for (_, value) in map.entries() {
                check(&value, place, wrong);
            }
        }
        _ => {}
    }
}

fn check_record(record: &Record<'_>, place: &str, wrong: &mut Vec<String>) {
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
