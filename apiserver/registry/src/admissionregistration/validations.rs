//! What a validating policy says of an object: its validations and audit annotations.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use kubewright_cel::{Composition, Environment, Type};
use kubewright_validation::check::{Errors, one_of_if_set, qualified_name};
use kubewright_validation::internal::shown;
use serde_json::Value;

use super::expressions;

const MAX_ANNOTATIONS: usize = 20;
const MAX_VALUE_EXPRESSION: usize = 5 * 1024;
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

/// Checks the validations and audit annotations in a spec; `name` is that of the policy.
pub(super) fn check(
    name: &str,
    spec: &Value,
    composition: &Composition,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let (validations, annotations) = (spec.list("validations"), spec.list("auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        for field in ["validations", "auditAnnotations"] {
            errors.push(FieldError::required(&path.child(field), detail));
        }
        return;
    }
    let environments = Environments::of(spec, composition);
    let validations_path = path.child("validations");
    for (index, validation) in validations.iter().enumerate() {
        let at = validations_path.index(index);
        self::validation(validation, &environments, &at, errors);
    }
    let path = path.child("auditAnnotations");
    if annotations.len() > MAX_ANNOTATIONS {
        let all = shown("[]AuditAnnotation", spec.at("auditAnnotations"));
        let detail = format!("must not have more than {MAX_ANNOTATIONS} auditAnnotations");
        errors.push(FieldError::invalid_shown(&path, &all, &detail));
    }
    for (index, annotation) in annotations.iter().enumerate() {
        let at = path.index(index);
        audit_annotation(name, annotation, &environments.decisions, &at, errors);
        let key = annotation.text("key");
        let mut before = annotations[..index].iter();
        if before.any(|other| other.text("key") == key) {
            errors.push(FieldError::duplicate(&at.child("key"), key));
        }
    }
}

struct Environments {
    decisions: Environment,
    messages: Environment,
}

impl Environments {
    fn of(spec: &Value, composition: &Composition) -> Self {
        let decisions = composition.environment().clone();
        let messages = composition.message_environment();
        if !spec.list("variables").is_empty() {
            return Self {
                decisions,
                messages,
            };
        }
        // Only a policy that declares variables has the variable `variables`.
        Self {
            decisions: decisions.without_variable("variables"),
            messages: messages.without_variable("variables"),
        }
    }
}

fn validation(
    validation: &Value,
    environments: &Environments,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let (at, expression) = (path.child("expression"), validation.text("expression"));
    if expression.trim().is_empty() {
        errors.push(FieldError::required(&at, "expression is not specified"));
    } else if let Err(problem) =
        expressions::check(&environments.decisions, expression, &[Type::Bool])
    {
        errors.push(expressions::refused(&at, expression, &problem));
    }
    let at = path.child("messageExpression");
    let expression = validation.text("messageExpression");
    if !expression.is_empty() && expression.trim().is_empty() {
        let detail = "must be non-empty if specified";
        errors.push(FieldError::invalid(&at, expression, detail));
    } else if !expression.is_empty()
        && let Err(problem) =
            expressions::check(&environments.messages, expression, &[Type::String])
    {
        errors.push(expressions::refused(&at, expression, &problem));
    }
    let (at, message) = (path.child("message"), validation.text("message"));
    if !message.is_empty() && message.trim().is_empty() {
        let detail = "must be non-empty if specified";
        errors.push(FieldError::invalid(&at, message, detail));
    } else if message.trim().contains(['\n', '\r']) {
        let detail = "must not contain line breaks";
        errors.push(FieldError::invalid(&at, message, detail));
    }
    one_of_if_set(validation, path, "reason", &REASONS, errors);
}

fn audit_annotation(
    policy: &str,
    annotation: &Value,
    environment: &Environment,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let (at, key) = (path.child("key"), annotation.text("key"));
    if policy.is_empty() {
        let detail = "requires metadata.name be non-empty";
        errors.push(FieldError::invalid(&at, key, detail));
    } else {
        qualified_name(&at, &format!("{policy}/{key}"), errors);
    }
    let at = path.child("valueExpression");
    let written = annotation.text("valueExpression");
    let expression = written.trim();
    if expression.is_empty() {
        let detail = "valueExpression is not specified";
        errors.push(FieldError::required(&at, detail));
    } else if expression.len() > MAX_VALUE_EXPRESSION {
        let detail = format!("must not exceed {MAX_VALUE_EXPRESSION} bytes in length");
        errors.push(FieldError::required(&at, &detail));
    } else if let Err(problem) =
        expressions::check(environment, expression, &[Type::String, Type::Null])
    {
        errors.push(expressions::refused(&at, written, &problem));
    }
}
