//! Conditions in the common form of the API.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::check::{Errors, not_negative, qualified_name, required};

/// Conditions in the common form, with a reason each.
pub fn conditions(status: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("conditions");
    let all = status.list("conditions");
    for (index, condition) in all.iter().enumerate() {
        let at = path.index(index);
        let kind = condition.text("type");
        qualified_name(&at.child("type"), kind, errors);
        if all[..index].iter().any(|other| other.text("type") == kind) {
            errors.push(FieldError::duplicate(&at.child("type"), kind));
        }
        let words = ["False", "True", "Unknown"];
        let status = condition.text("status");
        if !words.contains(&status) {
            errors.push(FieldError::not_supported(
                &at.child("status"),
                status,
                &words,
            ));
        }
        not_negative(condition, &at, "observedGeneration", errors);
        if !condition.has("lastTransitionTime") {
            errors.push(FieldError::required(&at.child("lastTransitionTime"), ""));
        }
        required(condition, &at, "reason", errors);
    }
}
