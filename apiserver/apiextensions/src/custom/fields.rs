//! Fields by which objects can be selected beside their name and namespace.

use std::borrow::Cow;

use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::Custom;

/// A selectable field.
#[derive(Clone, Debug)]
pub struct Selectable {
    name: String,
}

impl Selectable {
    pub(super) fn new(path: &str) -> Self {
        let name = path.strip_prefix('.').unwrap_or(path).to_owned();
        Self { name }
    }

    /// The path of the field, without the dot in front.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Custom {
    /// Whether objects are selected by a field.
    pub(super) fn selects_by(&self, field: &str) -> bool {
        match field {
            "metadata.name" => true,
            "metadata.namespace" => self.definition.namespaced,
            field => self.selectable.iter().any(|known| known.name == field),
        }
    }
}

/// What an object has in a field.
pub(super) fn value<'a>(object: &'a Value, field: &str) -> Cow<'a, str> {
    let value = field.split('.').fold(object, |value, part| value.at(part));
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Null => "".into(),
        other => other.to_string().into(),
    }
}
