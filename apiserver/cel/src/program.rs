//! A compiled expression, what it is given and what may be spent on it.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::eval::{Context, Failure};
use crate::plan::Node;
use crate::source::Issues;
use crate::types::Type;
use crate::value::Value;

/// An expression that is ready to be evaluated, any number of times and by any number of threads.
#[derive(Debug)]
pub struct Program {
    root: Node,
    slots: usize,
    output: Type,
    variables: BTreeSet<String>,
}

impl Program {
    pub(crate) fn new(root: Node, slots: usize, output: Type, variables: BTreeSet<String>) -> Self {
        Self {
            root,
            slots,
            output,
            variables,
        }
    }

    /// Whether the expression names this variable.
    pub fn uses(&self, variable: &str) -> bool {
        self.variables.contains(variable)
    }

    /// The type of the result. Its `Display` is the text that Kubernetes puts into `must evaluate to bool but got ...`.
    pub fn output_type(&self) -> &Type {
        &self.output
    }

    /// Evaluates the expression and takes what that cost from the budget.
    ///
    /// # Errors
    ///
    /// * the expression fails, such as by `no such key: x`, or costs more than one expression may
    /// * it cost more than was left for all expressions together
    pub fn evaluate<'a>(
        &'a self,
        variables: &'a Variables<'a>,
        budget: &mut Budget,
    ) -> Result<Value<'a>, EvaluationError> {
        let mut context = Context::new(variables, self.slots, budget.per_expression);
        let result = context.eval(&self.root);
        budget.spend(context.spent())?;
        result.map_err(|failure| match failure {
            Failure::Error(message) => EvaluationError::Failed {
                message: message.into_owned(),
            },
            Failure::CostLimit => EvaluationError::Failed {
                message: Failure::CostLimit.to_string(),
            },
        })
    }
}

/// The values of the variables of an environment. A variable that is not set is an error only where it is used.
#[derive(Clone, Debug, Default)]
pub struct Variables<'a> {
    values: Vec<(&'a str, Value<'a>)>,
}

impl<'a> Variables<'a> {
    /// No variables.
    pub fn new() -> Self {
        Self {
            values: Vec::with_capacity(6),
        }
    }

    /// Sets a variable.
    #[must_use]
    pub fn with(mut self, name: &'a str, value: Value<'a>) -> Self {
        self.values.push((name, value));
        self
    }

    /// Sets a variable to what JSON stands for.
    #[must_use]
    pub fn with_json(self, name: &'a str, json: &'a serde_json::Value) -> Self {
        self.with(name, Value::from_json(json))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.values
            .iter()
            .rev()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }
}

/// What the evaluation of expressions may still cost, in the units of Kubernetes.
#[derive(Clone, Debug)]
pub struct Budget {
    per_expression: u64,
    left: u64,
    last: u64,
}

impl Budget {
    /// A limit for each expression and one for all of them together.
    pub fn new(per_expression: u64, total: u64) -> Self {
        Self {
            per_expression,
            left: total,
            last: 0,
        }
    }

    /// What the match conditions of one webhook may cost.
    pub fn match_conditions() -> Self {
        Self::new(PER_EXPRESSION, 2_500_000)
    }

    /// What one evaluation of a policy or of the rules of a custom resource may cost.
    pub fn policy() -> Self {
        Self::new(PER_EXPRESSION, 10_000_000)
    }

    /// What is left.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// What the last expression cost.
    pub fn last_cost(&self) -> u64 {
        self.last
    }

    fn spend(&mut self, cost: u64) -> Result<(), EvaluationError> {
        self.last = cost;
        match self.left.checked_sub(cost) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(EvaluationError::OutOfBudget),
        }
    }
}

/// The limit of one expression: `PerCallLimit` of the API server.
const PER_EXPRESSION: u64 = 1_000_000;

/// Why an expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(
    clippy::exhaustive_enums,
    reason = "expressions are compiled in two steps, which Kubernetes words differently"
)]
pub enum CompileError {
    /// It cannot be read or does not fit the types of what it names.
    #[error("compilation failed: {0}")]
    Issues(Issues),
    /// A constant part of it fails.
    #[error("program instantiation failed: {0}")]
    Instantiation(String),
}

/// Why an expression has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(
    clippy::exhaustive_enums,
    reason = "callers must tell a failed expression from a spent budget, and there is no third case"
)]
pub enum EvaluationError {
    /// The expression failed; the text is the reference implementation's.
    #[error("{message}")]
    Failed {
        /// What went wrong, such as `no such key: spec`.
        message: String,
    },
    /// The total budget is spent; no further expression may be evaluated with it.
    #[error(
        "validation failed due to running out of cost budget, no further validation rules will be run"
    )]
    OutOfBudget,
}
