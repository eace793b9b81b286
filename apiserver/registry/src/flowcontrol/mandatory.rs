//! The objects that leave no request without a level: their specs are fixed.

use std::borrow::Cow;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View};
use kubewright_validation::check::Errors;
use kubewright_validation::internal::shown;
use serde_json::{Value, json};

use crate::generation::is_changed;

/// Finds a flow schema that must be as it is, and is not.
pub(super) fn flow_schema(kind: [&str; 3], object: &Value, errors: &mut Errors) {
    let name = object.at("metadata").text("name");
    let (precedence, groups): (_, &[&str]) = match name {
        "exempt" => (1, &["system:masters"]),
        "catch-all" => (10_000, &["system:unauthenticated", "system:authenticated"]),
        _ => return,
    };
    let subjects: Vec<Value> = groups
        .iter()
        .map(|group| json!({"kind": "Group", "group": {"name": group}}))
        .collect();
    let mut fixed = json!({"spec": {
        "matchingPrecedence": precedence,
        "priorityLevelConfiguration": {"name": name},
        "rules": [{
            "subjects": subjects,
            "resourceRules": [{
                "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": true,
            }],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }],
    }});
    if name == "catch-all"
        && let Some(spec) = fixed.existing("spec")
    {
        spec.put("distinguisherMethod", json!({"type": "ByUser"}));
    }
    if is_changed(kind, "spec", object, &fixed) {
        refuse(object, "flowcontrol.FlowSchemaSpec", "", errors);
    }
}

/// Finds a priority level that must be as it is, and is not. How much an exempt one lends may change.
pub(super) fn priority_level(kind: [&str; 3], object: &Value, errors: &mut Errors) {
    let mut compared = Cow::Borrowed(object);
    let (fixed, except) = match object.at("metadata").text("name") {
        "exempt" => {
            if let Some(spec) = compared.to_mut().existing("spec") {
                spec.drop_field("exempt");
            }
            let except = " except the 'spec.exempt' field";
            (json!({"spec": {"type": "Exempt"}}), except)
        }
        "catch-all" => {
            let limited = json!({
                "nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"},
            });
            let fixed = json!({"spec": {"type": "Limited", "limited": limited}});
            (fixed, "")
        }
        _ => return,
    };
    if is_changed(kind, "spec", &compared, &fixed) {
        let spec = "flowcontrol.PriorityLevelConfigurationSpec";
        refuse(object, spec, except, errors);
    }
}

fn refuse(object: &Value, spec: &str, except: &str, errors: &mut Errors) {
    let name = object.at("metadata").text("name");
    let detail = format!("spec of '{name}'{except} must equal the fixed value");
    let value = shown(spec, object.at("spec"));
    errors.push(FieldError::invalid_shown(
        &Path::new("spec"),
        &value,
        &detail,
    ));
}
