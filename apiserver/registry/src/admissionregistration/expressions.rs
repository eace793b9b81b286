//! The expressions of webhooks and policies, and the types that they must evaluate to.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_cel::{CompileError, Environment, Type};

/// Compiles an expression that must evaluate to one of the types.
///
/// Stored expressions are compiled again with every change of their fields. The API server does so in an environment that may
/// have more functions than that of new expressions; in 1.36 the two have the same.
pub(super) fn check(
    environment: &Environment,
    expression: &str,
    types: &[Type],
) -> Result<(), CompileError> {
    environment.compile_to(expression, types).map(drop)
}

/// The error of a field whose expression does not compile. An invalid constant is an internal error, as it is to the API
/// server: the expression has the right type.
pub(crate) fn refused(path: &Path<'_>, expression: &str, error: &CompileError) -> FieldError {
    match error {
        CompileError::Instantiation(_) => FieldError::internal(path, &error.to_string()),
        _ => FieldError::invalid(path, expression, &error.to_string()),
    }
}
