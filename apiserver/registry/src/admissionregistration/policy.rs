//! What both kinds of admission policies have in common.

use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use crate::columns::Row;

pub(super) fn default(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    spec.fill("failurePolicy", "Fail");
    if let Some(constraints) = spec.existing("matchConstraints") {
        match_resources(constraints);
    }
}

pub(super) fn match_resources(resources: &mut Value) {
    resources.fill("matchPolicy", "Equivalent");
    resources.part("namespaceSelector");
    resources.part("objectSelector");
    for rules in ["resourceRules", "excludeResourceRules"] {
        for rule in resources.each(rules) {
            rule.fill("scope", "*");
        }
    }
}

pub(super) fn cells(row: Row<'_>, rules: &str) -> Vec<Value> {
    let kind = row.spec().at("paramKind");
    let kind = if kind.is_null() {
        "<unset>".to_owned()
    } else {
        format!("{}/{}", kind.text("apiVersion"), kind.text("kind"))
    };
    let rules = row.spec().list(rules).len().into();
    vec![row.name(), rules, kind.into(), row.age()]
}
