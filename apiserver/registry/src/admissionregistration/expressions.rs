//! The expressions of webhooks and policies, and the types that they must evaluate to.

use kubewright_cel::{Environment, Type};

/// Compiles an expression that must evaluate to one of the types.
///
/// Stored expressions are compiled again with every change of their fields. The API server does so in an environment that may
/// have more functions than that of new expressions; in 1.36 the two have the same.
pub(super) fn check(
    environment: &Environment,
    expression: &str,
    types: &[Type],
) -> Result<(), String> {
    let program = environment
        .compile(expression)
        .map_err(|error| error.to_string())?;
    program
        .with_output(types)
        .map(drop)
        .map_err(|error| error.to_string())
}
