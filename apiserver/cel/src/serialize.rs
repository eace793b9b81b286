//! Values of Rust types as variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value as Json;
use thiserror::Error;

use crate::value::{Key, Map, Text, Value};
use crate::variables::Variables;

/// A value that cannot be serialized to JSON, such as a map whose keys are no strings. The cause is the error's source.
#[derive(Debug, Error)]
#[error("serializing the variable {variable}")]
pub struct SerializeError {
    variable: String,
    source: serde_json::Error,
}

impl<'a> Variables<'a> {
    /// Sets a variable to a value of a Rust type, as it is serialized to JSON. The value is copied.
    ///
    /// ```
    /// use kubewright_cel::{Budget, Environment, Variables};
    ///
    /// #[derive(serde::Serialize)]
    /// struct Deployment {
    ///     name: String,
    ///     replicas: u32,
    /// }
    ///
    /// let web = Deployment { name: "web".to_owned(), replicas: 3 };
    /// let variables = Variables::new().with_serialize("object", &web)?;
    ///
    /// let program = Environment::admission().compile("object.replicas < 5 && object.name.startsWith('w')")?;
    /// let value = program.evaluate(&variables, &mut Budget::match_conditions())?;
    /// assert_eq!(value.as_bool(), Some(true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The value has no form in JSON.
    pub fn with_serialize(
        self,
        variable: &'a str,
        value: &impl Serialize,
    ) -> Result<Self, SerializeError> {
        let json = serde_json::to_value(value).map_err(|source| SerializeError {
            variable: variable.to_owned(),
            source,
        })?;
        Ok(self.with(variable, owned(json)))
    }
}

/// The value of JSON without a borrow.
fn owned(json: Json) -> Value<'static> {
    match json {
        Json::String(text) => Value::text(text),
        Json::Array(elements) => Value::list(elements.into_iter().map(owned).collect()),
        Json::Object(members) => {
            let entries: BTreeMap<Key<'static>, Value<'static>> = members
                .into_iter()
                .map(|(name, value)| (Key::String(Text::Shared(name.into())), owned(value)))
                .collect();
            Value::Map(Map::Values(Arc::new(entries)))
        }
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(value),
        Json::Number(number) => number.as_i64().map_or_else(
            || Value::Double(number.as_f64().unwrap_or(f64::NAN)),
            Value::Int,
        ),
    }
}
