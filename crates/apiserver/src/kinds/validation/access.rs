//! Roles and their bindings.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::selectors::Labels;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::check::{Errors, required, subdomain};
use crate::kinds::internal::shown;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn role(kind: &str, object: &Value, errors: &mut Errors) {
    let namespaced = kind == "Role";
    let path = Path::new("rules");
    for (index, rule) in object.list("rules").iter().enumerate() {
        policy_rule(rule, namespaced, &path.index(index), errors);
    }
    if namespaced {
        return;
    }
    let aggregation = object.at("aggregationRule");
    if aggregation.is_null() {
        return;
    }
    let path = Path::new("aggregationRule.clusterRoleSelectors");
    let selectors = aggregation.list("clusterRoleSelectors");
    if selectors.is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required(&path, detail));
    }
    for (index, wanted) in selectors.iter().enumerate() {
        super::check::selector(wanted, &path.index(index), errors);
        if Labels::from_object(wanted).is_err() {
            let detail = "invalid label selector.";
            errors.push(FieldError::invalid(&path.index(index), Value::Null, detail));
        }
    }
}

pub(super) fn binding(kind: &str, object: &Value, errors: &mut Errors) {
    let namespaced = kind == "RoleBinding";
    let reference = object.at("roleRef");
    let path = Path::new("roleRef");
    let group = reference.text("apiGroup");
    if group != GROUP {
        let at = path.child("apiGroup");
        errors.push(FieldError::not_supported(&at, group, &[GROUP]));
    }
    let kinds: &[&str] = if namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    let kind = reference.text("kind");
    if !kinds.contains(&kind) {
        errors.push(FieldError::not_supported(&path.child("kind"), kind, kinds));
    }
    if required(reference, &path, "name", errors) {
        let name = reference.text("name");
        for problem in names::path_segment(name) {
            errors.push(FieldError::invalid(&path.child("name"), name, &problem));
        }
    }
    let path = Path::new("subjects");
    for (index, subject) in object.list("subjects").iter().enumerate() {
        self::subject(subject, namespaced, &path.index(index), errors);
    }
}

pub(super) fn binding_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (role, before) = (new.at("roleRef"), old.at("roleRef"));
    if role != before {
        let at = Path::new("roleRef");
        let value = shown("rbac.RoleRef", role);
        errors.push(FieldError::invalid_shown(
            &at,
            &value,
            "cannot change roleRef",
        ));
    }
}

fn subject(subject: &Value, namespaced: bool, path: &Path<'_>, errors: &mut Errors) {
    required(subject, path, "name", errors);
    let group = subject.text("apiGroup");
    let at = path.child("apiGroup");
    match subject.text("kind") {
        "ServiceAccount" => {
            let name = subject.text("name");
            if !name.is_empty() {
                subdomain(&path.child("name"), name, errors);
            }
            if !group.is_empty() {
                errors.push(FieldError::not_supported(&at, group, &[""]));
            }
            if !namespaced && subject.text("namespace").is_empty() {
                errors.push(FieldError::required(&path.child("namespace"), ""));
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                errors.push(FieldError::not_supported(&at, group, &[GROUP]));
            }
        }
        other => errors.push(FieldError::not_supported(
            &path.child("kind"),
            other,
            &["ServiceAccount", "User", "Group"],
        )),
    }
}

fn policy_rule(rule: &Value, namespaced: bool, path: &Path<'_>, errors: &mut Errors) {
    if rule.list("verbs").is_empty() {
        let detail = "verbs must contain at least one value";
        errors.push(FieldError::required(&path.child("verbs"), detail));
    }
    let (groups, resources) = (rule.list("apiGroups"), rule.list("resources"));
    let urls = rule.list("nonResourceURLs");
    if urls.is_empty() {
        for (list, field, name) in [
            (groups, "apiGroups", "api group"),
            (resources, "resources", "resource"),
        ] {
            if list.is_empty() {
                let detail = format!("resource rules must supply at least one {name}");
                errors.push(FieldError::required(&path.child(field), &detail));
            }
        }
        return;
    }
    let at = path.child("nonResourceURLs");
    let value = || rule.at("nonResourceURLs").clone();
    if namespaced {
        let detail = "namespaced rules cannot apply to non-resource URLs";
        errors.push(FieldError::invalid(&at, value(), detail));
    }
    let names = rule.list("resourceNames");
    if !groups.is_empty() || !resources.is_empty() || !names.is_empty() {
        let detail = "rules cannot apply to both regular resources and non-resource URLs";
        errors.push(FieldError::invalid(&at, value(), detail));
    }
}
