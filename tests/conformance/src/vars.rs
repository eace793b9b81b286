//! Variables, which are written in braces: `{ns}`, the cells of a row, and values that earlier steps saved.

use serde_json::{Map, Value};

/// Names and their values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vars(Map<String, Value>);

impl From<Map<String, Value>> for Vars {
    fn from(values: Map<String, Value>) -> Self {
        Self(values)
    }
}

impl Vars {
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.iter()
    }

    /// A string with every known variable replaced by its value.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.0 {
            let name = format!("{{{name}}}");
            if text.contains(&name) {
                text = text.replace(&name, &plain(value));
            }
        }
        text
    }

    /// A value with every string in it filled; a string that is a single variable becomes its value.
    pub(crate) fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let name = text
                    .strip_prefix('{')
                    .and_then(|rest| rest.strip_suffix('}'));
                match name.and_then(|name| self.0.get(name)) {
                    Some(whole) => whole.clone(),
                    None => self.text(text).into(),
                }
            }
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => Value::Object(self.fields(fields)),
            other => other.clone(),
        }
    }

    pub(crate) fn fields(&self, fields: &Map<String, Value>) -> Map<String, Value> {
        fields
            .iter()
            .map(|(name, value)| (self.text(name), self.value(value)))
            .collect()
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
