//! Expressions that select devices.
//!
//! What an expression may cost at most is not computed here, so that none is refused as too complex.

use std::sync::LazyLock;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use kubewright_cel::{CompileError, Environment, Place, Type, Version};
use serde_json::Value;

use kubewright_validation::check::Errors;
use kubewright_validation::devices::parts::declared_at_most;

const MOST: usize = 32;
const LONGEST: usize = 10 * 1024;

/// The selectors of a class or a request.
pub(crate) fn all(holder: &Value, path: &Path<'_>, errors: &mut Errors) {
    let selectors = holder.list("selectors");
    declared_at_most(
        selectors,
        MOST,
        &path.child("selectors"),
        errors,
        |selector, at, errors| {
            let at = at.child("cel");
            if !selector.has("cel") {
                errors.push(FieldError::required(&at, ""));
                return;
            }
            let expression = selector.at("cel").text("expression");
            let at = at.child("expression");
            if expression.len() > LONGEST {
                errors.push(FieldError::too_long(&at, LONGEST));
            } else if let Err(error) = check(&ENVIRONMENT, &at, expression) {
                errors.push(error);
            }
        },
    );
}

/// Checks an expression as a version does of which no device is shared.
pub(crate) fn check_unshared(at: &Path<'_>, expression: &str) -> Result<(), FieldError> {
    check(&UNSHARED, at, expression)
}

fn check(environment: &Environment, at: &Path<'_>, expression: &str) -> Result<(), FieldError> {
    let types = [Type::Bool, Type::Dyn];
    let Err(error) = environment.compile_to(expression, &types) else {
        return Ok(());
    };
    Err(match &error {
        CompileError::Output(found) => {
            let found = found.found();
            let problem = format!("must evaluate to bool or the unknown type, not {found}");
            FieldError::invalid(at, expression, &problem)
        }
        CompileError::Instantiation(_) => FieldError::internal(at, &error.to_string()),
        CompileError::Issues(_) => FieldError::invalid(at, expression, &error.to_string()),
    })
}

static ENVIRONMENT: LazyLock<Environment> =
    LazyLock::new(|| Environment::new_expressions(Place::DeviceSelector, Version::V1_37));

static UNSHARED: LazyLock<Environment> =
    LazyLock::new(|| Environment::new_expressions(Place::DeviceSelector, Version::V1_35));
