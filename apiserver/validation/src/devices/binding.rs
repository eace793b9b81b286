//! Conditions that binding a pod to a device waits for.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::names;
use super::parts::{as_text, declared_at_most};
use crate::check::Errors;

const MOST_BINDING_CONDITIONS: usize = 4;

/// The conditions for which a pod waits before it is bound, and those that end the waiting.
pub fn binding(holder: &Value, path: &Path<'_>, errors: &mut Errors) {
    const GOOD: &str = "bindingConditions";
    const BAD: &str = "bindingFailureConditions";
    let (good, bad) = (holder.list(GOOD), holder.list(BAD));
    for (field, list) in [(GOOD, good), (BAD, bad)] {
        let at = path.child(field);
        declared_at_most(
            list,
            MOST_BINDING_CONDITIONS,
            &at,
            errors,
            |name, at, errors| {
                names::label_name(as_text(name), at, errors);
            },
        );
    }
    for (field, list) in [(GOOD, good), (BAD, bad)] {
        let at = path.child(field);
        for (index, name) in list.iter().enumerate() {
            if list[..index].contains(name) {
                errors.push(FieldError::duplicate(&at.index(index), as_text(name)));
            }
            if field == BAD && good.contains(name) {
                let detail = "bindingFailureConditions must not overlap with bindingConditions";
                errors.push(FieldError::invalid(&at.index(index), as_text(name), detail));
            }
        }
    }
    for (field, list, other, others) in [(GOOD, good, BAD, bad), (BAD, bad, GOOD, good)] {
        if list.is_empty() && !others.is_empty() {
            let detail = format!("{field} are required to use {other}");
            let value = holder.at(field).clone();
            errors.push(FieldError::invalid(&path.child(field), value, &detail));
        }
    }
}
