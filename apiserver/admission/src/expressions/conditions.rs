//! Match conditions: CEL expressions that must all be true for a webhook to be called, or for a policy to apply (A.8).

use kubewright_cel::{Budget, Environment, Type, Variables};
use serde_json::Value;

use super::expression::Expression;

/// The match conditions of one webhook or policy, compiled once per change of it.
#[derive(Debug)]
pub(crate) struct Conditions(Vec<Expression>);

/// What the conditions come to together.
pub(crate) enum Outcome {
    Call,
    Skip,
    Failed(String),
}

impl Conditions {
    pub(crate) fn from_object(conditions: &Value, environment: &Environment) -> Self {
        let conditions = conditions.as_array().into_iter().flatten();
        let expressions = conditions.filter_map(|condition| condition["expression"].as_str());
        Self(
            expressions
                .map(|expression| Expression::compile(environment, expression, &[Type::Bool]))
                .collect(),
        )
    }

    /// The expressions.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Expression> {
        self.0.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every expression is evaluated before any result counts: one that is false outweighs errors, but not a spent
    /// budget.
    pub(crate) fn outcome<'a>(&'a self, variables: &Variables<'a>) -> Outcome {
        let mut budget = Budget::match_conditions();
        let mut errors: Vec<String> = Vec::new();
        let mut all_true = true;
        for condition in &self.0 {
            match condition.evaluate(variables, &mut budget) {
                Ok(Ok(value)) => all_true &= value.as_bool() == Some(true),
                Ok(Err(why)) => {
                    if !errors.contains(&why) {
                        errors.push(why);
                    }
                }
                Err(spent) => return Outcome::Failed(spent),
            }
        }
        match errors.as_slice() {
            _ if !all_true => Outcome::Skip,
            [] => Outcome::Call,
            [one] => Outcome::Failed(one.clone()),
            several => Outcome::Failed(format!("[{}]", several.join(", "))),
        }
    }
}
