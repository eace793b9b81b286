//! Expressions that select devices.
//!
//! What an expression may cost at most is not computed here, so that none is refused as too complex.

use std::sync::LazyLock;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use kubewright_cel::{Environment, Type};
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
            } else if let Err(problem) = compile(expression) {
                errors.push(FieldError::invalid(&at, expression, &problem));
            }
        },
    );
}

fn compile(expression: &str) -> Result<(), String> {
    compile_in(&ENVIRONMENT, expression)
}

/// The same in a version of which no device is shared.
pub(crate) fn compile_unshared(expression: &str) -> Result<(), String> {
    compile_in(&UNSHARED, expression)
}

fn compile_in(environment: &Environment, expression: &str) -> Result<(), String> {
    let program = environment
        .compile(expression)
        .map_err(|error| error.to_string())?;
    match program.output_type() {
        Type::Bool | Type::Dyn => Ok(()),
        other => Err(format!(
            "must evaluate to bool or the unknown type, not {other}"
        )),
    }
}

static ENVIRONMENT: LazyLock<Environment> =
    LazyLock::new(|| environment(Some(("allowMultipleAllocations", Type::Bool))));

static UNSHARED: LazyLock<Environment> = LazyLock::new(|| environment(None));

/// What an expression knows of a device, and perhaps more.
fn environment(more: Option<(&'static str, Type)>) -> Environment {
    let by_domain = |value| Type::map(Type::String, Type::map(Type::String, value));
    let fields = [
        ("driver", Type::String),
        ("attributes", by_domain(Type::Dyn)),
        ("capacity", by_domain(Type::object("kubernetes.Quantity"))),
    ];
    Environment::kubernetes()
        .with_bindings()
        .with_object_type("kubernetes.DRADevice", fields.into_iter().chain(more))
        .with_variable("device", Type::object("kubernetes.DRADevice"))
}
