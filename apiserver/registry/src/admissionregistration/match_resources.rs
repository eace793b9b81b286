//! The resources that a policy or a binding is about.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::{Edit, View};
use kubewright_validation::admission_rule;
use kubewright_validation::check::{Errors, one_of_if_set, problems, selector};
use serde_json::Value;

const MUTABLE_OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];

pub(super) fn default(resources: &mut Value) {
    resources.fill("matchPolicy", "Equivalent");
    resources.part("namespaceSelector");
    resources.part("objectSelector");
    for rules in ["resourceRules", "excludeResourceRules"] {
        for rule in resources.each(rules) {
            rule.fill("scope", "*");
        }
    }
}

pub(super) fn check(resources: &Value, path: &Path<'_>, errors: &mut Errors) {
    let policies = ["Equivalent", "Exact"];
    one_of_if_set(resources, path, "matchPolicy", &policies, errors);
    for field in ["namespaceSelector", "objectSelector"] {
        selector(resources.at(field), &path.child(field), errors);
    }
    for field in ["resourceRules", "excludeResourceRules"] {
        let path = path.child(field);
        for (index, rule) in resources.list(field).iter().enumerate() {
            named_rule(rule, &path.index(index), errors);
        }
    }
}

fn named_rule(named: &Value, path: &Path<'_>, errors: &mut Errors) {
    let names_path = path.child("resourceNames");
    let all = named.list("resourceNames");
    for (index, name) in all.iter().enumerate() {
        let at = names_path.index(index);
        let text = name.as_str().unwrap_or_default();
        problems(&at, text, names::path_segment(text), errors);
        if all[..index].contains(name) {
            errors.push(FieldError::duplicate(&at, text));
        }
    }
    admission_rule(named, path, errors);
}

/// Deletions change no object. The path of the error has no index, as upstream.
pub(super) fn check_mutable(resources: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("resourceRules.operations");
    for rule in resources.list("resourceRules") {
        for operation in rule.list("operations") {
            let operation = operation.as_str().unwrap_or_default();
            if !MUTABLE_OPERATIONS.contains(&operation) {
                errors.push(FieldError::not_supported(
                    &at,
                    operation,
                    &MUTABLE_OPERATIONS,
                ));
            }
        }
    }
}
