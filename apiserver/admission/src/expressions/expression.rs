//! One expression of a webhook or a policy: compiled when it changes, evaluated for each request.

use kubewright_cel::{
    Budget, Environment, EvaluationError, Program, Type, Value as Cel, Variables,
};

/// An expression, or why it does not compile.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(crate) text: String,
    pub(crate) program: Result<Program, String>,
}

impl Expression {
    /// Compiles an expression that must evaluate to one of the types.
    pub(crate) fn compile(environment: &Environment, text: &str, types: &[Type]) -> Self {
        let program = environment.compile_to(text, types);
        let program = program.map_err(|why| why.to_string());
        Self {
            text: text.to_owned(),
            program,
        }
    }

    /// The value, or why there is none.
    ///
    /// # Errors
    /// The budget is spent.
    pub(crate) fn evaluate<'a>(
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
