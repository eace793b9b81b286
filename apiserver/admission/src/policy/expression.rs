//! One expression of a policy: compiled when the policy changes, evaluated for each request.

use kubewright_apimachinery::view::View as _;
use kubewright_cel::{
    Budget, Composition, Environment, EvaluationError, Program, Type, Value as Cel, Variables,
};
use serde_json::Value;

/// An expression, or why it does not compile.
#[derive(Debug)]
pub(super) struct Expression {
    pub(super) text: String,
    pub(super) program: Result<Program, String>,
}

/// The variables of a policy.
pub(super) fn composition(spec: &Value) -> Composition {
    let mut composition = Composition::new(spec.has("paramKind"));
    for variable in spec.list("variables") {
        // One that does not compile fails the expressions that use it.
        let _ = composition.declare(variable.text("name"), variable.text("expression"));
    }
    composition
}

impl Expression {
    pub(super) fn compile(environment: &Environment, text: &str, expected: &[Type]) -> Self {
        let program = match environment.compile(text) {
            Err(why) => Err(why.to_string()),
            Ok(program) if expected.contains(program.output_type()) => Ok(program),
            Ok(program) => Err(unexpected(expected, program.output_type())),
        };
        Self {
            text: text.to_owned(),
            program,
        }
    }

    /// The value, or why there is none.
    ///
    /// # Errors
    /// The budget is spent.
    pub(super) fn evaluate<'a>(
        &'a self,
        variables: &Variables<'a>,
        budget: &mut Budget,
    ) -> Result<Result<Cel<'a>, String>, String> {
        let program = match &self.program {
            Ok(program) => program,
            Err(why) => return Ok(Err(format!("compilation error: {why}"))),
        };
        match program.evaluate(variables, budget) {
            Ok(value) => Ok(Ok(value)),
            Err(spent @ EvaluationError::OutOfBudget) => Err(spent.to_string()),
            Err(why) => {
                let text = &self.text;
                Ok(Err(format!("expression '{text}' resulted in error: {why}")))
            }
        }
    }
}

/// Why a program with this output is not one that was asked for.
fn unexpected(expected: &[Type], output: &Type) -> String {
    match expected {
        [only] => format!("must evaluate to {only} but got {output}"),
        several => {
            let several: Vec<String> = several.iter().map(ToString::to_string).collect();
            format!(
                "must evaluate to one of [{}] but got {output}",
                several.join(" ")
            )
        }
    }
}
