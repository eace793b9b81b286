//! The metadata of a converted object: those that it had, with the labels and annotations that the webhook gave it.

use serde_json::{Map, Value};

/// Puts the metadata of the original back, except for labels and annotations.
///
/// # Errors
/// The real server's words for metadata that cannot be read.
pub(super) fn restore(original: &Value, converted: &mut Value) -> Result<(), String> {
    let answered = match converted.get_mut("metadata").map(Value::take) {
        None => return Err("missing metadata in converted object".to_owned()),
        Some(Value::Object(answered)) => answered,
        Some(other) => {
            let kind = go_type(&other);
            return Err(format!(
                "invalid metadata of type {kind} in converted object"
            ));
        }
    };
    let mut restored = match original.get("metadata") {
        None => Map::new(),
        Some(Value::Object(metadata)) => metadata.clone(),
        Some(other) => {
            let kind = go_type(other);
            return Err(format!("invalid metadata of type {kind} in input object"));
        }
    };
    for field in ["labels", "annotations"] {
        match answered.get(field) {
            None | Some(Value::Null) => drop(restored.remove(field)),
            Some(Value::Object(entries)) => {
                check(restored.get(field), entries, field)?;
                restored.insert(field.to_owned(), Value::Object(entries.clone()));
            }
            Some(other) => {
                let kind = go_type(other);
                return Err(format!(
                    "invalid metadata.{field} of type {kind} in converted object"
                ));
            }
        }
    }
    converted["metadata"] = Value::Object(restored);
    Ok(())
}

/// Checks entries that are not those that were there: what is stored already may be what nobody could write today.
fn check(before: Option<&Value>, entries: &Map<String, Value>, field: &str) -> Result<(), String> {
    for (key, value) in entries {
        if !value.is_string() {
            let kind = go_type(value);
            return Err(format!(
                "metadata.{field}[{key}] must be a string, but is {kind} in converted object"
            ));
        }
    }
    if before.and_then(Value::as_object) == Some(entries) {
        return Ok(());
    }
    let errors = kubewright_validation::converted_entries(field, entries);
    let mut texts: Vec<String> = Vec::new();
    for error in &errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        _ => Err(format!("[{}]", texts.join(", "))),
    }
}

/// What Go prints for the type of a JSON value.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
