//! Taints of devices, and which of them claims tolerate.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names::label_value;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::names;
use crate::check::{Errors, declaratively, problems};

const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "None"];

/// Checks a taint.
pub fn taint(taint: &Value, path: &Path<'_>, errors: &mut Errors) {
    names::label_name(taint.text("key"), &path.child("key"), errors);
    let value = taint.text("value");
    problems(&path.child("value"), value, label_value(value), errors);
    match taint.text("effect") {
        "" => errors.push(FieldError::required(&path.child("effect"), "").declarative()),
        _ => effect(taint, path, errors),
    }
}

/// What a taint does, or a toleration stands.
fn effect(holder: &Value, path: &Path<'_>, errors: &mut Errors) {
    let effect = holder.text("effect");
    if !EFFECTS.contains(&effect) {
        let error = FieldError::not_supported(&path.child("effect"), effect, &EFFECTS);
        errors.push(error.declarative());
    }
}

/// Checks what a request or an allocated device tolerates.
pub fn tolerations(holder: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("tolerations");
    for (index, toleration) in holder.list("tolerations").iter().enumerate() {
        self::toleration(toleration, &at.index(index), errors);
    }
}

fn toleration(toleration: &Value, path: &Path<'_>, errors: &mut Errors) {
    let key = toleration.text("key");
    if !key.is_empty() {
        declaratively(errors, |errors| {
            names::label_name(key, &path.child("key"), errors);
        });
    }
    let (value, at) = (toleration.text("value"), path.child("value"));
    match toleration.text("operator") {
        "Exists" if !value.is_empty() => {
            let detail = "must be empty for operator `Exists`";
            errors.push(FieldError::invalid(&at, value, detail));
        }
        "Exists" => {}
        "Equal" => problems(&at, value, label_value(value), errors),
        other => {
            let (at, operators) = (path.child("operator"), ["Equal", "Exists"]);
            errors.push(FieldError::not_supported(&at, other, &operators).declarative());
        }
    }
    if !toleration.text("effect").is_empty() {
        effect(toleration, path, errors);
    }
}
