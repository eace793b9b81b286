//! Which values the conditions of policies' expressions have had.

use kubewright_cel::{Condition, Program};

use crate::expressions::Expression;

/// An expression of a policy, and the values that its conditions have had since the policy or a binding changed last.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpressionCoverage {
    /// The kind of the policy.
    pub kind: &'static str,
    /// The name of the policy.
    pub policy: String,
    /// The field of the policy, such as `spec.validations[0].expression`.
    pub field: String,
    /// The conditions. An expression that does not compile has none.
    pub conditions: Vec<Condition>,
}

/// The fields of a policy with an expression, and what has become of these.
#[derive(Debug, Default)]
pub(super) struct Fields(pub(super) Vec<(String, Vec<Condition>)>);

impl Fields {
    pub(super) fn add(&mut self, field: String, expression: &Expression) {
        self.add_program(field, expression.program.as_ref().ok());
    }

    pub(super) fn add_program(&mut self, field: String, program: Option<&Program>) {
        let conditions = program.map(Program::conditions).unwrap_or_default();
        self.0.push((field, conditions));
    }
}
