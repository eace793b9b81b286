//! Match conditions: expressions that decide whether a webhook or a policy is called.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use kubewright_cel::{Environment, Type};
use kubewright_validation::check::{Errors, qualified_name};
use serde_json::Value;

use super::expressions;

const MAX_CONDITIONS: usize = 64;

/// `holder` is a webhook, or the spec of a policy.
pub(super) fn match_conditions(
    holder: &Value,
    environment: &Environment,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let path = path.child("matchConditions");
    let conditions = holder.list("matchConditions");
    if conditions.len() > MAX_CONDITIONS {
        errors.push(FieldError::too_many(
            &path,
            conditions.len(),
            MAX_CONDITIONS,
        ));
    }
    for (index, condition) in conditions.iter().enumerate() {
        let at = path.index(index);
        expression(condition, environment, &at.child("expression"), errors);
        let name = condition.text("name");
        if name.is_empty() {
            errors.push(FieldError::required(&at.child("name"), ""));
            continue;
        }
        qualified_name(&at.child("name"), name, errors);
        if conditions[..index]
            .iter()
            .any(|other| other.text("name") == name)
        {
            errors.push(FieldError::duplicate(&at.child("name"), name));
        }
    }
}

fn expression(condition: &Value, environment: &Environment, path: &Path<'_>, errors: &mut Errors) {
    let expression = condition.text("expression").trim();
    if expression.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if let Err(problem) = expressions::check(environment, expression, &[Type::Bool]) {
        errors.push(expressions::refused(path, expression, &problem));
    }
}
