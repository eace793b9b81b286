//! Match conditions: CEL expressions that must all be true for a webhook to be called (A.8).

use serde_json::Value;

use super::forms::Form;
use super::select::Invocation;
use crate::admission::attributes::Attributes;
use crate::status::{Result, Status};

/// The match conditions of one webhook.
#[derive(Debug)]
pub(super) struct Conditions(Vec<String>);

impl Conditions {
    pub(super) fn from_object(conditions: &Value) -> Self {
        let conditions = conditions.as_array().into_iter().flatten();
        let expression = |condition: &Value| condition["expression"].as_str().map(str::to_owned);
        Self(conditions.filter_map(expression).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn hold(&self, _: &Attributes, _: &Invocation, _: &Form<'_>) -> Result<bool> {
        Err(Status::not_implemented(
            "this server does not evaluate the matchConditions of webhooks yet",
        ))
    }
}
