//! Match conditions: CEL expressions that must all be true for a webhook to be called, or for a policy to apply (A.8).

use kubewright_cel::{Budget, Environment, EvaluationError, Program, Type, Variables};
use serde_json::Value;

/// The match conditions of one webhook or policy, compiled once per change of it.
#[derive(Debug)]
pub(crate) struct Conditions(Vec<Condition>);

#[derive(Debug)]
struct Condition {
    expression: String,
    program: Result<Program, String>,
}

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
                .map(|expression| Condition::compile(expression, environment))
                .collect(),
        )
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
                Ok(holds) => all_true &= holds,
                Err(Failed::OutOfBudget(why)) => return Outcome::Failed(why),
                Err(Failed::Error(why)) => {
                    if !errors.contains(&why) {
                        errors.push(why);
                    }
                }
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

enum Failed {
    OutOfBudget(String),
    Error(String),
}

impl Condition {
    fn compile(expression: &str, environment: &Environment) -> Self {
        let compiled = environment.compile(expression);
        let program = match compiled {
            Err(error) => Err(error.to_string()),
            Ok(program) if *program.output_type() != Type::Bool => Err(format!(
                "must evaluate to bool but got {}",
                program.output_type()
            )),
            Ok(program) => Ok(program),
        };
        Self {
            expression: expression.to_owned(),
            program,
        }
    }

    fn evaluate<'a>(
        &'a self,
        variables: &Variables<'a>,
        budget: &mut Budget,
    ) -> Result<bool, Failed> {
        let program = self
            .program
            .as_ref()
            .map_err(|why| Failed::Error(format!("compilation error: {why}")))?;
        match program.evaluate(variables, budget) {
            Ok(value) => Ok(value.as_bool() == Some(true)),
            Err(error @ EvaluationError::OutOfBudget) => {
                Err(Failed::OutOfBudget(error.to_string()))
            }
            Err(error) => {
                let expression = &self.expression;
                let text = format!("expression '{expression}' resulted in error: {error}");
                Err(Failed::Error(text))
            }
        }
    }
}
