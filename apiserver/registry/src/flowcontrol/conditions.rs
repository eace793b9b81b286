//! Conditions of a status.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use kubewright_validation::check::{Errors, required};

/// Checks the conditions of a status: types are unique and required.
pub(super) fn check(object: &Value, errors: &mut Errors) {
    let path = Path::new("status.conditions");
    let all = object.at("status").list("conditions");
    for (index, condition) in all.iter().enumerate() {
        let at = path.index(index);
        let kind = condition.text("type");
        if all[..index].iter().any(|other| other.text("type") == kind) {
            errors.push(FieldError::duplicate(&at.child("type"), kind));
        }
        required(condition, &at, "type", errors);
    }
}
