//! The selectors of a question about rights: those that are refused, and those that no answer goes by.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::selectors::{Fields, Labels};
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

/// Refuses selectors that say nothing, or two things at once.
pub(super) fn check(resource: &Value, errors: &mut Vec<FieldError>) {
    let path = Path::new("spec.resourceAttributes");
    for name in ["fieldSelector", "labelSelector"] {
        let selector = resource.at(name);
        if !selector.is_object() {
            continue;
        }
        let at = path.child(name);
        let raw = selector.text("rawSelector");
        let requirements = selector.list("requirements");
        if !raw.is_empty() && !requirements.is_empty() {
            let detail = "may not specified at the same time as requirements";
            errors.push(FieldError::invalid(&at.child("rawSelector"), raw, detail));
        }
        let at_requirements = at.child("requirements");
        if raw.is_empty() && requirements.is_empty() {
            let detail = format!(
                "when spec.resourceAttributes.{name} is specified, requirements or rawSelector is required"
            );
            errors.push(FieldError::required(&at_requirements, &detail));
        }
        for (index, requirement) in requirements.iter().enumerate() {
            let at = at_requirements.index(index);
            let key = at.child("key");
            if name == "fieldSelector" && requirement.text("key").is_empty() {
                errors.push(FieldError::required(&key, "must be specified"));
            }
            values(requirement, &at, errors);
            if name == "labelSelector" {
                labels(requirement, &at, errors);
            }
        }
    }
}

fn values(requirement: &Value, at: &Path<'_>, errors: &mut Vec<FieldError>) {
    let at = at.child("values");
    let empty = requirement.list("values").is_empty();
    match requirement.text("operator") {
        "In" | "NotIn" if empty => {
            let detail = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(FieldError::required(&at, detail));
        }
        "Exists" | "DoesNotExist" if !empty => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::forbidden(&at, detail));
        }
        _ => {}
    }
}

fn labels(requirement: &Value, at: &Path<'_>, errors: &mut Vec<FieldError>) {
    let (at_key, key) = (at.child("key"), requirement.text("key"));
    for why in names::label_key(key) {
        errors.push(FieldError::invalid(&at_key, key, &why));
    }
    let at = at.child("values");
    for (index, value) in requirement.list("values").iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        for why in names::label_value(value) {
            errors.push(FieldError::invalid(&at.index(index), value, &why));
        }
    }
}

/// What the answer says of selectors that it does not go by, or by a part of them only.
pub(super) fn ignored(resource: &Value) -> Option<String> {
    let mut told = Vec::new();
    for (name, usable) in [
        ("fieldSelector", is_usable_for_fields as fn(&Value) -> bool),
        ("labelSelector", is_usable_for_labels),
    ] {
        let selector = resource.at(name);
        let raw = selector.text("rawSelector");
        let requirements = selector.list("requirements");
        let (all, some) = if requirements.is_empty() {
            let parses = match name {
                "fieldSelector" => Fields::parse(raw).is_ok(),
                _ => Labels::parse(raw).is_ok(),
            };
            (parses, false)
        } else {
            let count = requirements.iter().filter(|one| usable(one)).count();
            (count == requirements.len(), count > 0)
        };
        if !all {
            let how = if some { "partially ignored" } else { "ignored" };
            told.push(format!(
                "spec.resourceAttributes.{name} {how} due to parse error"
            ));
        }
    }
    (!told.is_empty()).then(|| told.join("; "))
}

fn is_usable_for_fields(requirement: &Value) -> bool {
    let one = requirement.list("values").len() == 1;
    one && matches!(requirement.text("operator"), "In" | "NotIn")
}

fn is_usable_for_labels(requirement: &Value) -> bool {
    matches!(
        requirement.text("operator"),
        "In" | "NotIn" | "Exists" | "DoesNotExist"
    )
}
