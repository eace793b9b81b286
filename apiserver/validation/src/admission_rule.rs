//! The rules of webhooks and policies: which operations on which resources they are about.

use std::collections::BTreeSet;

use crate::check::{Errors, one_of_if_set};
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

/// Validates one rule: operations, groups, versions, resources and scope.
pub fn admission_rule(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("operations");
    let operations = rule.list("operations");
    if operations.is_empty() {
        errors.push(FieldError::required(&at, ""));
    }
    wildcard(rule, "operations", "operations", path, errors);
    for (index, operation) in operations.iter().enumerate() {
        let operation = operation.as_str().unwrap_or_default();
        if !OPERATIONS.contains(&operation) {
            errors.push(FieldError::not_supported(
                &at.index(index),
                operation,
                &OPERATIONS,
            ));
        }
    }
    for (field, words) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        if rule.list(field).is_empty() {
            errors.push(FieldError::required(&path.child(field), ""));
        }
        wildcard(rule, field, words, path, errors);
    }
    let at = path.child("apiVersions");
    for (index, version) in rule.list("apiVersions").iter().enumerate() {
        if version == "" {
            errors.push(FieldError::required(&at.index(index), ""));
        }
    }
    resources(rule, &path.child("resources"), errors);
    let scopes = ["*", "Cluster", "Namespaced"];
    one_of_if_set(rule, path, "scope", &scopes, errors);
}

fn wildcard(rule: &Value, field: &str, words: &str, path: &Path<'_>, errors: &mut Errors) {
    let list = rule.list(field);
    if list.len() > 1 && list.iter().any(|item| item == "*") {
        let detail = format!("if '*' is present, must not specify other {words}");
        let value = rule.at(field).clone();
        errors.push(FieldError::invalid(&path.child(field), value, &detail));
    }
}

fn resources(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    let all = rule.list("resources");
    if all.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    let mut every_part_of = BTreeSet::new();
    let mut of_everything = BTreeSet::new();
    let (mut single, mut double, mut whole) = (false, false, false);
    for (index, resource) in all.iter().enumerate() {
        let resource = resource.as_str().unwrap_or_default();
        let at = path.index(index);
        if resource.is_empty() {
            errors.push(FieldError::required(&at, ""));
            continue;
        }
        double |= resource == "*/*";
        single |= resource == "*";
        let Some((main, part)) = resource.split_once('/') else {
            // As upstream: the last one without a part decides.
            whole = resource != "*";
            continue;
        };
        if every_part_of.contains(main) {
            let detail = format!("if '{main}/*' is present, must not specify {resource}");
            errors.push(FieldError::invalid(&at, resource, &detail));
        }
        if of_everything.contains(part) {
            let detail = format!("if '*/{part}' is present, must not specify {resource}");
            errors.push(FieldError::invalid(&at, resource, &detail));
        }
        if part == "*" {
            every_part_of.insert(main);
        }
        if main == "*" {
            of_everything.insert(part);
        }
    }
    let value = || rule.at("resources").clone();
    if all.len() > 1 && double {
        let detail = "if '*/*' is present, must not specify other resources";
        errors.push(FieldError::invalid(path, value(), detail));
    }
    if single && whole {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.push(FieldError::invalid(path, value(), detail));
    }
}

/// Whether a resource is a review of authentication or authorization: reviews are not stored, the server's own parts ask
/// for them, and admission webhooks and policies see none of them.
pub fn is_review(group: &str, plural: &str) -> bool {
    match group {
        "authentication.k8s.io" => matches!(plural, "selfsubjectreviews" | "tokenreviews"),
        "authorization.k8s.io" => matches!(
            plural,
            "localsubjectaccessreviews"
                | "selfsubjectaccessreviews"
                | "selfsubjectrulesreviews"
                | "subjectaccessreviews"
        ),
        _ => false,
    }
}
