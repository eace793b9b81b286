//! Roles and cluster roles.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::selectors::Labels;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use crate::behavior::Behavior;
use crate::strategy::{Findings, Strategy};
use kubewright_validation::check::{Errors, declared_required_for, selector};
use kubewright_validation::metadata::Rules;

/// The strategy of roles and cluster roles.
#[derive(Debug)]
pub(crate) struct Role {
    /// Whether it belongs to a namespace.
    pub(super) namespaced: bool,
}

impl Strategy for Role {
    fn default(&self, object: &mut Value) {
        object.fill("rules", Value::Null);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        self.metadata().create(object, &mut found.errors);
        check(self.namespaced, object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let rules = self.metadata();
        rules.create(new, &mut found.errors);
        check(self.namespaced, new, &mut found.errors);
        rules.changed(new, old, &mut found.errors);
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            create_on_update: true,
            ..Behavior::default()
        }
    }
}

impl Role {
    fn metadata(&self) -> Rules {
        let rules = if self.namespaced {
            Rules::namespaced()
        } else {
            Rules::cluster_scoped()
        };
        rules.with_name(names::path_segment)
    }
}

fn check(namespaced: bool, object: &Value, errors: &mut Errors) {
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
        selector(wanted, &path.index(index), errors);
        if Labels::from_object(wanted).is_err() {
            let detail = "invalid label selector.";
            errors.push(FieldError::invalid(&path.index(index), Value::Null, detail));
        }
    }
}

fn policy_rule(rule: &Value, namespaced: bool, path: &Path<'_>, errors: &mut Errors) {
    let why = "verbs must contain at least one value";
    declared_required_for(why, rule, path, "verbs", errors);
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
