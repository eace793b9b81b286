//! Metadata of a converted object: the original metadata with the labels and annotations that the webhook returned.

use serde_json::{Map, Value};

/// Restores the metadata of the original object, except for labels and annotations.
///
/// # Errors
/// The metadata of one of the objects is invalid. The messages are the real API server's.
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

/// Validates labels or annotations that the webhook changed. Unchanged ones may be invalid: older validation rules may have
/// accepted them.
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
    let mut messages: Vec<String> = Vec::new();
    for error in &errors {
        let message = error.to_string();
        if !messages.contains(&message) {
            messages.push(message);
        }
    }
    match messages.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        _ => Err(format!("[{}]", messages.join(", "))),
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
