//! One expression: where it is in the Rust source, and its program.

use std::panic::Location;

use kubewright_cel::{Budget, Environment, EvaluationError, Program, Type, Value, Variables};

/// An expression and the call that it was given in.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) at: &'static Location<'static>,
}

/// A compiled expression, or why it does not compile.
#[derive(Debug)]
pub(crate) struct Expression {
    text: String,
    pub(crate) program: Result<Program, String>,
}

impl Source {
    #[track_caller]
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            at: Location::caller(),
        }
    }
}

impl Expression {
    /// Compiles an expression that must evaluate to one of the types.
    pub(crate) fn compile(environment: &Environment, source: &Source, types: &[Type]) -> Self {
        let program = environment.compile_to(&source.text, types);
        Self {
            text: source.text.clone(),
            program: program.map_err(|why| why.to_string()),
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn uses(&self, variable: &str) -> bool {
        self.program
            .as_ref()
            .is_ok_and(|program| program.uses(variable))
    }

    /// The value, or why there is none, in the words of the API server.
    ///
    /// # Errors
    /// The budget is spent, so that nothing else is evaluated.
    pub(crate) fn evaluate<'a>(
        &'a self,
        variables: &Variables<'a>,
        budget: &mut Budget,
    ) -> Result<Result<Value<'a>, String>, String> {
        let program = match &self.program {
            Ok(program) => program,
            Err(why) => return Ok(Err(format!("compilation error: {why}"))),
        };
        match program.evaluate(variables, budget) {
            Ok(value) => Ok(Ok(value)),
            Err(spent @ EvaluationError::OutOfBudget) => Err(spent.to_string()),
            Err(why) => Ok(Err(format!(
                "expression '{}' resulted in error: {why}",
                self.text
            ))),
        }
    }
}
