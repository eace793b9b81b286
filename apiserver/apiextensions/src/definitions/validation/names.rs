//! The names that a definition asks for.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names::dns1035_label;
use kubewright_apimachinery::view::View;
use kubewright_validation::check::{self, Errors};
use serde_json::Value;

/// The names without which there is no resource.
pub(super) fn required(names: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in ["plural", "singular", "kind", "listKind"] {
        check::required(names, path, field, errors);
    }
}

/// The form of those that there are.
pub(super) fn check(names: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in ["plural", "singular"] {
        let name = names.text(field);
        if !name.is_empty() {
            problems_joined(&path.child(field), name, errors);
        }
    }
    for field in ["kind", "listKind"] {
        let name = names.text(field);
        let found = dns1035_label(&name.to_lowercase());
        if !name.is_empty() && !found.is_empty() {
            let found = found.join(",");
            let detail = format!("may have mixed case, but should otherwise match: {found}");
            errors.push(FieldError::invalid(&path.child(field), name, &detail));
        }
    }
    each(names, path, "shortNames", errors);
    let (kind, list) = (names.text("kind"), names.text("listKind"));
    if !kind.is_empty() && kind == list {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(&path.child("listKind"), list, detail));
    }
    each(names, path, "categories", errors);
}

fn each(names: &Value, path: &Path<'_>, field: &str, errors: &mut Errors) {
    let path = path.child(field);
    for (index, name) in names.list(field).iter().enumerate() {
        problems_joined(
            &path.index(index),
            name.as_str().unwrap_or_default(),
            errors,
        );
    }
}

/// The rules of labels, told in one error.
pub(super) fn problems_joined(path: &Path<'_>, text: &str, errors: &mut Errors) {
    let found = dns1035_label(text);
    if !found.is_empty() {
        errors.push(FieldError::invalid(path, text, &found.join(",")));
    }
}
