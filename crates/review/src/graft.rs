//! Typed before against typed after, as a JSON Patch that applies to the raw object.

use serde::Serialize;
use serde_json::{Value, json};

/// What a typed object looks like as JSON, taken before a handler may change it.
#[derive(Debug)]
pub struct Image(Value);

impl Image {
    /// Takes the image of an object.
    ///
    /// # Errors
    ///
    /// If the object's type cannot be written as JSON.
    pub fn of<K: Serialize>(object: &K) -> Result<Self, serde_json::Error> {
        serde_json::to_value(object).map(Self)
    }

    /// The patch that turns the raw object, of which `self` is the typed image, into one that has the changes of `after`.
    pub fn graft(&self, raw: &str, after: &Self) -> Result<Patch, serde_json::Error> {
        let raw: Value = serde_json::from_str(raw)?;
        let mut operations = Vec::new();
        diff(&mut operations, "", Some(&raw), &self.0, &after.0);
        Ok(Patch(if operations.is_empty() {
            String::new()
        } else {
            Value::Array(operations).to_string()
        }))
    }
}

/// A JSON Patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch(String);

impl Patch {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The patch as JSON; empty text if it changes nothing.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn diff(
    operations: &mut Vec<Value>,
    path: &str,
    raw: Option<&Value>,
    before: &Value,
    after: &Value,
) {
    if before == after {
        return;
    }
    let (Value::Object(before), Value::Object(after), Some(Value::Object(raw))) =
        (before, after, raw)
    else {
        operations.push(json!({"op": if raw.is_some() { "replace" } else { "add" }, "path": path, "value": after}));
        return;
    };
    for (key, value) in after {
        let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
        match (raw.get(key), before.get(key)) {
            (Some(raw), Some(before)) => diff(operations, &path, Some(raw), before, value),
            (_, Some(before)) if before == value => {}
            (raw, _) => diff(operations, &path, raw, &Value::Null, value),
        }
    }
    for key in before
        .keys()
        .filter(|key| !after.contains_key(*key) && raw.contains_key(*key))
    {
        let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
        operations.push(json!({"op": "remove", "path": path}));
    }
}
