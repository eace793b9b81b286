//! The variables of an evaluation.

use std::sync::Arc;

use crate::composition::Composed;
use crate::value::{Object, Value};

/// The values of variables, for one evaluation. A variable without a value is an error only where the expression uses it.
///
/// ```
/// use kubewright_cel::{Budget, Environment, Value, Variables};
/// use serde_json::json;
///
/// let object = json!({"metadata": {"name": "web"}});
/// let creation = Variables::new()
///     .with_json("object", &object)
///     .with("oldObject", Value::Null);
///
/// let program = Environment::admission().compile("oldObject == null || object == oldObject")?;
/// let value = program.evaluate(&creation, &mut Budget::match_conditions())?;
/// assert_eq!(value.as_bool(), Some(true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Variables<'a> {
    values: Vec<(&'a str, Value<'a>)>,
    composed: Option<Arc<Composed<'a>>>,
}

impl<'a> Variables<'a> {
    /// No variables.
    pub fn new() -> Self {
        Self {
            values: Vec::with_capacity(6),
            composed: None,
        }
    }

    /// Sets a variable.
    #[must_use]
    pub fn with(mut self, name: &'a str, value: Value<'a>) -> Self {
        self.values.push((name, value));
        self
    }

    /// Sets a variable to a JSON value, which is borrowed.
    #[must_use]
    pub fn with_json(self, name: &'a str, json: &'a serde_json::Value) -> Self {
        self.with(name, Value::from_json(json))
    }

    /// Lets evaluations pay for the composed variables that they use.
    pub(crate) fn compose(&mut self, composed: &Arc<Composed<'a>>) {
        self.values
            .push(("variables", Value::Object(Object::Variables)));
        self.composed = Some(Arc::clone(composed));
    }

    /// The value of a composed variable, or why it has none; nothing if it is not declared.
    pub(crate) fn composed(&self, name: &str) -> Option<Result<Value<'a>, String>> {
        self.composed.as_ref()?.get(name)
    }

    /// The cost of composed variables since the last evaluation.
    pub(crate) fn take_cost(&self) -> u64 {
        self.composed
            .as_ref()
            .map_or(0, |composed| composed.take_cost())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.values
            .iter()
            .rev()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }
}
