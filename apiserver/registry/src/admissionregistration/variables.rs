//! The variables of a policy: named expressions that its other expressions can use.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use kubewright_cel::{Composition, is_identifier};
use kubewright_validation::check::Errors;
use serde_json::Value;

use super::expressions;

/// Checks the variables of a policy's spec, and declares them in their order.
pub(super) fn declare(
    spec: &Value,
    composition: &mut Composition,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let path = path.child("variables");
    for (index, variable) in spec.list("variables").iter().enumerate() {
        let at = path.index(index);
        let (name, expression) = (variable.text("name"), variable.text("expression"));
        if name.trim().is_empty() {
            let detail = "name is not specified";
            errors.push(FieldError::required(&at.child("name"), detail));
        } else if !is_identifier(name) {
            let detail = "must be a valid CEL identifier";
            errors.push(FieldError::invalid(&at.child("name"), name, detail));
        }
        let at = at.child("expression");
        if expression.trim().is_empty() {
            errors.push(FieldError::required(&at, "expression is not specified"));
        } else if let Err(error) = composition.declare(name, expression) {
            errors.push(expressions::refused(&at, expression, &error));
        }
    }
}
