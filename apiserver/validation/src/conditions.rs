//! Conditions in the common form of the API.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::check::{Errors, qualified_name, required};

const LONGEST_MESSAGE: usize = 32 * 1024;
const LONGEST_REASON: usize = 1024;

/// Conditions in the common form, with a reason each.
pub fn conditions(status: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("conditions");
    let all = status.list("conditions");
    for (index, condition) in all.iter().enumerate() {
        let at = path.index(index);
        let kind = condition.text("type");
        if all[..index].iter().any(|other| other.text("type") == kind) {
            errors.push(FieldError::duplicate(&at, kind));
        }
        if kind.is_empty() {
            errors.push(FieldError::required(&at.child("type"), "is required"));
        } else {
            qualified_name(&at.child("type"), kind, errors);
        }
        let words = ["False", "True", "Unknown"];
        let status = condition.text("status");
        if status.is_empty() {
            errors.push(FieldError::required(&at.child("status"), ""));
        } else if !words.contains(&status) {
            errors.push(FieldError::not_supported(
                &at.child("status"),
                status,
                &words,
            ));
        }
        if let Some(number) = condition
            .int("observedGeneration")
            .filter(|number| *number < 0)
        {
            let detail = "must be greater than or equal to zero";
            let at = at.child("observedGeneration");
            errors.push(FieldError::invalid(&at, number, detail));
        }
        if !condition.has("lastTransitionTime") {
            errors.push(FieldError::required(&at.child("lastTransitionTime"), ""));
        }
        if required(condition, &at, "reason", errors) {
            reason(condition.text("reason"), &at.child("reason"), errors);
        }
        if condition.text("message").len() > LONGEST_MESSAGE {
            errors.push(FieldError::too_long(&at.child("message"), LONGEST_MESSAGE));
        }
    }
}

fn reason(reason: &str, path: &Path<'_>, errors: &mut Errors) {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_reason = reason.starts_with(|first: char| first.is_ascii_alphabetic())
        && reason.bytes().last().is_some_and(is_word)
        && reason
            .bytes()
            .all(|byte| is_word(byte) || matches!(byte, b',' | b':'));
    if !is_reason {
        let detail = "a condition reason must start with alphabetic character, optionally followed by a string of \
                      alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. \
                      'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used \
                      for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";
        errors.push(FieldError::invalid(path, reason, detail));
    }
    if reason.len() > LONGEST_REASON {
        errors.push(FieldError::too_long(path, LONGEST_REASON));
    }
}
