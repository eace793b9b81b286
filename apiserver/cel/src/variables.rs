//! The variables of an evaluation.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::declared::{NATIVE, NATIVE_REQUEST};
use crate::value::{Object, Value};

/// The values of variables, for one evaluation. A variable without a value is an error only where the expression uses it.
///
/// The values may borrow from the program that they are evaluated with, so make them after the program; a clone is cheap.
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

/// The expressions behind `variables.<name>`.
pub(crate) trait Named: fmt::Debug + Send + Sync {
    fn position(&self, name: &str) -> Option<usize>;

    /// The value, or why there is none, and what it cost.
    fn evaluate<'a>(
        &'a self,
        index: usize,
        variables: &Variables<'a>,
    ) -> (Result<Value<'a>, String>, u64);
}

/// The values of composed variables in the evaluations of one request, each evaluated when it is first selected.
#[derive(Debug)]
struct Composed<'a> {
    named: &'a dyn Named,
    values: Vec<OnceLock<Result<Value<'a>, String>>>,
    request: Variables<'a>,
    /// Of the variables that were evaluated since it was last asked for.
    cost: AtomicU64,
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

    /// Sets a variable to the JSON of a built-in kind, which is borrowed. The API server holds those in Go types, and their
    /// lists and maps are not compared with values of other types (`SchemalessTypedToVal`), which is false in
    /// [`Variables::with_json`]. What Go holds as JSON even there is JSON here: the `fieldsV1` of managers, and the `options` of
    /// the variable `request`.
    ///
    /// ```
    /// use kubewright_cel::{Budget, Environment, Variables};
    /// use serde_json::json;
    ///
    /// let pod = json!({"metadata": {"labels": {"app": "web"}}});
    /// let program = Environment::admission().compile("object.metadata.labels == dyn(1)")?;
    /// let typed = program.evaluate(&Variables::new().with_native("object", &pod), &mut Budget::policy());
    /// assert_eq!(typed.unwrap_err().to_string(), "no such overload");
    /// let custom = program.evaluate(&Variables::new().with_json("object", &pod), &mut Budget::policy())?;
    /// assert_eq!(custom.as_bool(), Some(false));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_native(self, name: &'a str, json: &'a serde_json::Value) -> Self {
        let of = match name {
            "request" => &NATIVE_REQUEST,
            _ => &NATIVE,
        };
        self.with(name, of.read(json))
    }

    /// Adds `variables`, with `count` names.
    pub(crate) fn compose(&mut self, named: &'a dyn Named, count: usize) {
        let composed = Arc::new(Composed {
            named,
            values: (0..count).map(|_| OnceLock::new()).collect(),
            request: self.clone(),
            cost: AtomicU64::new(0),
        });
        self.share(composed);
    }

    fn share(&mut self, composed: Arc<Composed<'a>>) {
        self.values
            .push(("variables", Value::Object(Object::Variables)));
        self.composed = Some(composed);
    }

    /// The value of a composed variable, or why it has none; nothing if it is not declared.
    pub(crate) fn composed(&self, name: &str) -> Option<Result<Value<'a>, String>> {
        let composed = self.composed.as_ref()?;
        let index = composed.named.position(name)?;
        let value = composed.values[index].get_or_init(|| {
            let mut variables = composed.request.clone();
            variables.share(Arc::clone(composed));
            let (value, cost) = composed.named.evaluate(index, &variables);
            composed.cost.fetch_add(cost, Ordering::Relaxed);
            value
        });
        Some(value.clone())
    }

    /// The cost of composed variables since the last evaluation.
    pub(crate) fn take_cost(&self) -> u64 {
        let composed = self.composed.as_ref();
        composed.map_or(0, |composed| composed.cost.swap(0, Ordering::Relaxed))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.values
            .iter()
            .rev()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }
}
