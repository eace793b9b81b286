//! A compiled expression, its variables and its cost budget.

use std::collections::BTreeSet;
use std::sync::Arc;

use thiserror::Error;

use crate::coverage::{Condition, Watch};
use crate::eval::Context;
use crate::failure::{EvaluationError, Failure};
use crate::node::Node;
use crate::source::Issues;
use crate::types::Type;
use crate::value::Value;
use crate::variables::Variables;

/// A compiled expression. It can be evaluated any number of times, and by any number of threads at once.
#[derive(Debug)]
pub struct Program {
    root: Node,
    slots: usize,
    output: Type,
    variables: BTreeSet<String>,
    watches: Vec<Arc<Watch>>,
}

impl Program {
    pub(crate) fn new(
        root: Node,
        slots: usize,
        output: Type,
        variables: BTreeSet<String>,
        watches: Vec<Arc<Watch>>,
    ) -> Self {
        Self {
            root,
            slots,
            output,
            variables,
            watches,
        }
    }

    /// The conditions of the expression and the values that they have had, in the order of their places; none, unless it was compiled
    /// [with coverage](crate::Environment::with_coverage).
    pub fn conditions(&self) -> Vec<Condition> {
        let watches = self.watches.iter();
        let mut conditions: Vec<Condition> = watches.map(|watch| watch.condition()).collect();
        conditions.sort_by_key(|condition| condition.position);
        conditions
    }

    /// Whether the expression uses a variable.
    ///
    /// ```
    /// use kubewright_cel::Environment;
    ///
    /// let program = Environment::admission().compile("object != oldObject")?;
    /// assert!(program.uses("oldObject") && !program.uses("request"));
    /// # Ok::<(), kubewright_cel::CompileError>(())
    /// ```
    pub fn uses(&self, variable: &str) -> bool {
        self.variables.contains(variable)
    }

    /// The type of the result. Kubernetes' errors display it: `must evaluate to bool but got list(string)`.
    pub fn output_type(&self) -> &Type {
        &self.output
    }

    /// Evaluates the expression and takes its cost from the budget.
    ///
    /// ```
    /// use kubewright_cel::{Budget, Environment, EvaluationError, Type, Variables};
    /// use serde_json::json;
    ///
    /// let environment = Environment::kubernetes().with_variable("object", Type::Dyn);
    /// let program = environment.compile("object.spec.replicas")?;
    ///
    /// let web = json!({"spec": {"replicas": 3}});
    /// let mut budget = Budget::match_conditions();
    /// let variables = Variables::new().with_json("object", &web);
    /// assert_eq!(program.evaluate(&variables, &mut budget)?.to_string(), "3");
    ///
    /// let empty = json!({});
    /// let variables = Variables::new().with_json("object", &empty);
    /// let error = program.evaluate(&variables, &mut budget).unwrap_err();
    /// assert_eq!(error.to_string(), "no such key: spec");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// * [`EvaluationError::Failed`]: the expression fails, as by `no such key: spec`
    /// * [`EvaluationError::CostLimit`]: it costs more than one expression may
    /// * [`EvaluationError::OutOfBudget`]: it cost more than the budget had left for all expressions together
    pub fn evaluate<'a>(
        &'a self,
        variables: &Variables<'a>,
        budget: &mut Budget,
    ) -> Result<Value<'a>, EvaluationError> {
        let (result, cost) = self.run(variables, budget.per_expression);
        budget.spend(cost.saturating_add(variables.take_cost()))?;
        result
    }

    /// Evaluates the expression; the cost is what it came to, whether it has a value or not.
    pub(crate) fn run<'a>(
        &'a self,
        variables: &Variables<'a>,
        limit: u64,
    ) -> (Result<Value<'a>, EvaluationError>, u64) {
        let mut context = Context::new(variables, self.slots, limit);
        let result = context.eval(&self.root);
        let cost = context.spent();
        let result = result.map_err(|failure| match failure {
            Failure::Error(message) => EvaluationError::Failed {
                message: message.into_owned(),
            },
            Failure::CostLimit => EvaluationError::CostLimit,
            panic @ Failure::Panic(_) => EvaluationError::Failed {
                message: panic.to_string(),
            },
        });
        (result, cost)
    }
}

/// The cost that evaluations may still have, in the units of the API server.
///
/// One budget is shared by all expressions of a policy, of a webhook or of an object:
///
/// ```
/// use kubewright_cel::{Budget, Environment, EvaluationError, Variables};
///
/// let program = Environment::kubernetes().compile("[1, 2, 3].all(x, x > 0)")?;
/// let mut budget = Budget::new(1_000_000, 30);
///
/// program.evaluate(&Variables::new(), &mut budget)?;
/// assert_eq!((budget.last_cost(), budget.remaining()), (16, 14));
///
/// let spent = program.evaluate(&Variables::new(), &mut budget);
/// assert_eq!(spent.unwrap_err(), EvaluationError::OutOfBudget);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Budget {
    per_expression: u64,
    remaining: u64,
    last: u64,
}

impl Budget {
    /// A limit for each expression, and one for all of them together.
    ///
    /// ```
    /// use kubewright_cel::{Budget, Environment, EvaluationError, Variables};
    ///
    /// let program = Environment::kubernetes().compile("[1, 2, 3].all(x, x > 0)")?;
    /// let result = program.evaluate(&Variables::new(), &mut Budget::new(5, 1_000));
    /// assert_eq!(result.unwrap_err(), EvaluationError::CostLimit);
    /// # Ok::<(), kubewright_cel::CompileError>(())
    /// ```
    pub fn new(per_expression: u64, total: u64) -> Self {
        Self {
            per_expression,
            remaining: total,
            last: 0,
        }
    }

    /// The budget of the match conditions of one webhook.
    ///
    /// ```
    /// assert_eq!(kubewright_cel::Budget::match_conditions().remaining(), 2_500_000);
    /// ```
    pub fn match_conditions() -> Self {
        Self::new(PER_EXPRESSION, 2_500_000)
    }

    /// The budget of a policy, and of the rules of a custom resource on one object.
    ///
    /// ```
    /// assert_eq!(kubewright_cel::Budget::policy().remaining(), 10_000_000);
    /// ```
    pub fn policy() -> Self {
        Self::new(PER_EXPRESSION, 10_000_000)
    }

    /// The cost that is left for further evaluations.
    pub fn remaining(&self) -> u64 {
        self.remaining
    }

    /// The cost of the last evaluation.
    pub fn last_cost(&self) -> u64 {
        self.last
    }

    fn spend(&mut self, cost: u64) -> Result<(), EvaluationError> {
        self.last = cost;
        match self.remaining.checked_sub(cost) {
            Some(remaining) => {
                self.remaining = remaining;
                Ok(())
            }
            None => Err(EvaluationError::OutOfBudget),
        }
    }
}

/// The limit of one expression: `PerCallLimit` of the API server.
pub(crate) const PER_EXPRESSION: u64 = 1_000_000;

/// The result of an expression is of a type that is not asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("must evaluate to {} but got {found}", wanted(expected))]
pub struct OutputError {
    expected: Vec<Type>,
    found: Type,
}

impl OutputError {
    /// The type of the result.
    pub fn found(&self) -> &Type {
        &self.found
    }

    /// Whether a type is one of these.
    pub(crate) fn of(found: &Type, expected: &[Type]) -> Result<(), Self> {
        if expected.contains(found) {
            return Ok(());
        }
        Err(Self {
            expected: expected.to_vec(),
            found: found.clone(),
        })
    }
}

/// The types as Kubernetes' errors list them: one alone, or several in brackets.
fn wanted(types: &[Type]) -> String {
    if let [only] = types {
        return only.to_string();
    }
    let types: Vec<String> = types.iter().map(ToString::to_string).collect();
    format!("one of [{}]", types.join(" "))
}

/// Why an expression does not compile.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(
    clippy::exhaustive_enums,
    reason = "expressions are compiled in three steps, which Kubernetes words differently"
)]
pub enum CompileError {
    /// Syntax errors, or types that do not fit.
    #[error("compilation failed: {0}")]
    Issues(Issues),
    /// The result is of another type than the field wants.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A constant part is invalid; the string is the error of cel-go.
    #[error("program instantiation failed: {0}")]
    Instantiation(String),
}
