//! The parameters of policies: the kind that a policy declares, and the objects that a binding refers to.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use kubewright_validation::check::{Errors, one_of, problems, selector};
use serde_json::Value;

const EXCLUSIVE: &str = "name and selector are mutually exclusive";

pub(super) fn kind(kind: &Value, path: &Path<'_>, errors: &mut Errors) {
    api_version(kind.text("apiVersion"), &path.child("apiVersion"), errors);
    let (kind, path) = (kind.text("kind"), path.child("kind"));
    if kind.is_empty() {
        errors.push(FieldError::required(&path, ""));
        return;
    }
    let found = names::dns1035_label(&kind.to_lowercase()).join(",");
    if !found.is_empty() {
        let detail = format!("may have mixed case, but should otherwise match: {found}");
        errors.push(FieldError::invalid(&path, kind, &detail));
    }
}

fn api_version(api_version: &str, path: &Path<'_>, errors: &mut Errors) {
    let mut invalid = |value: &str, detail: &str| {
        if !detail.is_empty() {
            errors.push(FieldError::invalid(path, value, detail));
        }
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    if api_version.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if version.contains('/') {
        let detail = format!("unexpected GroupVersion string: {api_version}");
        invalid(api_version, &detail);
    } else {
        if !group.is_empty() {
            invalid(group, &names::dns1123_subdomain(group).join(","));
        }
        if version.is_empty() {
            invalid(api_version, "version must be specified");
        } else {
            invalid(version, &names::dns1035_label(version).join(","));
        }
    }
}

/// A reference from a binding: a name or a selector.
pub(super) fn reference(reference: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (name, selects) = (reference.text("name"), reference.has("selector"));
    let (name_path, selector_path) = (path.child("name"), path.child("selector"));
    problems(&name_path, name, names::path_segment(name), errors);
    if selects && !name.is_empty() {
        errors.push(FieldError::forbidden(&name_path, EXCLUSIVE));
    }
    selector(reference.at("selector"), &selector_path, errors);
    if selects && !name.is_empty() {
        errors.push(FieldError::forbidden(&selector_path, EXCLUSIVE));
    }
    if !selects && name.is_empty() {
        let detail = "one of name or selector must be specified";
        errors.push(FieldError::required(path, detail));
    }
    let actions = ["Deny", "Allow"];
    one_of(reference, path, "parameterNotFoundAction", &actions, errors);
}
