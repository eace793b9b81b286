//! Which values the conditions of policies' expressions have had.

use kubewright_cel::{Composition, Condition, Program};

use crate::expressions::{Conditions, Expression};

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

/// The fields of a policy with an expression, and the conditions of these.
#[derive(Debug)]
pub(super) struct Fields(pub(super) Vec<(String, Vec<Condition>)>);

impl Fields {
    /// Those that policies of both kinds have: match conditions and variables.
    pub(super) fn of(conditions: &Conditions, composition: &Composition) -> Self {
        let mut fields = Self(Vec::new());
        for (index, condition) in conditions.iter().enumerate() {
            let field = format!("spec.matchConditions[{index}].expression");
            fields.add(field, condition);
        }
        for (index, program) in composition.programs().enumerate() {
            let field = format!("spec.variables[{index}].expression");
            fields.add_program(field, program);
        }
        fields
    }

    pub(super) fn add(&mut self, field: String, expression: &Expression) {
        self.add_program(field, expression.program.as_ref().ok());
    }

    fn add_program(&mut self, field: String, program: Option<&Program>) {
        let conditions = program.map(Program::conditions).unwrap_or_default();
        self.0.push((field, conditions));
    }
}
