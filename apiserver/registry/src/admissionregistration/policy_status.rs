//! The status of a validating policy: what type checking found, and conditions.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::json_path;
use kubewright_apimachinery::view::View;
use kubewright_validation::check::{Errors, required};
use kubewright_validation::conditions::conditions;
use serde_json::Value;

pub(super) fn check(object: &Value, errors: &mut Errors) {
    let (status, path) = (object.at("status"), Path::new("status"));
    let checking = status.at("typeChecking");
    let warnings_path = path.child("typeChecking.expressionWarnings");
    for (index, warning) in checking.list("expressionWarnings").iter().enumerate() {
        let at = warnings_path.index(index);
        required(warning, &at, "warning", errors);
        field_reference(
            warning.text("fieldRef").trim(),
            &at.child("fieldRef"),
            errors,
        );
    }
    conditions(status, &path, errors);
}

fn field_reference(reference: &str, path: &Path<'_>, errors: &mut Errors) {
    if reference.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if let Err(problem) = json_path::check(&format!("{{{reference}}}")) {
        let detail = format!("invalid JSONPath: {problem}");
        errors.push(FieldError::invalid(path, reference, &detail));
    }
}
