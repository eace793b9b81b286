//! Autoscalers and disruption budgets.

use serde_json::Value;

use super::check::{
    Errors, at_most_hundred_percent, count_or_percent, not_negative, one_of_if_set, problems,
    required, selector,
};
use crate::field::{FieldError, Path};
use crate::kinds::conversion;
use crate::kinds::names;
use crate::kinds::quantity::Quantity;
use crate::kinds::view::View;

/// An autoscaler of either version; the paths are those of version 2.
pub(super) fn autoscaler(version: &str, object: &Value, errors: &mut Errors) {
    if version == "v1" {
        let mut object = object.clone();
        conversion::autoscaler_to_v2(&mut object);
        return autoscaler("v2", &object, errors);
    }
    let spec = object.at("spec");
    let path = Path::new("spec");
    let least = spec.int("minReplicas");
    let most = spec.int("maxReplicas").unwrap_or(0);
    if let Some(least) = least.filter(|least| *least < 1) {
        let detail = "must be greater than or equal to 1";
        let at = path.child("minReplicas");
        errors.push(FieldError::invalid(&at, least, detail));
    }
    let at = path.child("maxReplicas");
    if most < 1 {
        let detail = "must be greater than 0";
        errors.push(FieldError::invalid(&at, most, detail));
    }
    if least.is_some_and(|least| most < least) {
        let detail = "must be greater than or equal to `minReplicas`";
        errors.push(FieldError::invalid(&at, most, detail));
    }
    reference(
        spec.at("scaleTargetRef"),
        &path.child("scaleTargetRef"),
        errors,
    );
    target_version(
        spec.at("scaleTargetRef"),
        &path.child("scaleTargetRef.apiVersion"),
        errors,
    );
    let at = path.child("metrics");
    for (index, metric) in spec.list("metrics").iter().enumerate() {
        self::metric(metric, &at.index(index), errors);
    }
    let behavior = spec.at("behavior");
    let at = path.child("behavior");
    for direction in ["scaleUp", "scaleDown"] {
        if behavior.has(direction) {
            rules(behavior.at(direction), &at.child(direction), errors);
        }
    }
}

pub(super) fn disruption_budget(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    let (least, most) = (spec.at("minAvailable"), spec.at("maxUnavailable"));
    if !least.is_null() && !most.is_null() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError::invalid(&path, spec.clone(), detail));
    }
    for field in ["minAvailable", "maxUnavailable"] {
        let value = spec.at(field);
        if !value.is_null() {
            count_or_percent(value, &path.child(field), errors);
            at_most_hundred_percent(value, &path.child(field), errors);
        }
    }
    selector(spec.at("selector"), &path.child("selector"), errors);
    let policies = ["AlwaysAllow", "IfHealthyBudget"];
    one_of_if_set(spec, &path, "unhealthyPodEvictionPolicy", &policies, errors);
}

fn reference(reference: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in ["kind", "name"] {
        if required(reference, path, field, errors) {
            let text = reference.text(field);
            let found = names::path_segment(text);
            problems(&path.child(field), text, found, errors);
        }
    }
}

/// The target's version names a group; replication controllers, older than groups, may do without.
fn target_version(reference: &Value, path: &Path<'_>, errors: &mut Errors) {
    let version = reference.text("apiVersion");
    let why = match version.matches('/').count() {
        0 if reference.text("kind") == "ReplicationController" => return,
        0 => "apiVersion must specify API group".to_owned(),
        1 => return,
        _ => format!("unexpected GroupVersion string: {version}"),
    };
    errors.push(FieldError::invalid(path, version, &why));
}

const KINDS: [(&str, &str); 5] = [
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
    ("External", "external"),
];

fn metric(metric: &Value, path: &Path<'_>, errors: &mut Errors) {
    let kind = metric.text("type");
    let Some((_, field)) = KINDS.iter().find(|(name, _)| *name == kind) else {
        let at = path.child("type");
        if kind.is_empty() {
            let detail = "must specify a metric source type";
            errors.push(FieldError::required(&at, detail));
        } else {
            let kinds = [
                "ContainerResource",
                "External",
                "Object",
                "Pods",
                "Resource",
            ];
            errors.push(FieldError::not_supported(&at, kind, &kinds));
        }
        return;
    };
    for (_, other) in KINDS {
        if metric.has(other) && other != *field {
            let detail = format!("must populate the given metric source only, not {other}");
            errors.push(FieldError::forbidden(&path.child(other), &detail));
        }
    }
    let (source, at) = (metric.at(field), path.child(field));
    if source.is_null() {
        let detail = "must populate information for the given metric source";
        errors.push(FieldError::required(&at, detail));
        return;
    }
    match *field {
        "resource" | "containerResource" => {
            let detail = "must specify a resource name";
            if source.text("name").is_empty() {
                errors.push(FieldError::required(&at.child("name"), detail));
            }
            if *field == "containerResource" && source.text("container").is_empty() {
                let detail = "must specify a container";
                errors.push(FieldError::required(&at.child("container"), detail));
            }
            let target = source.at("target");
            let at = at.child("target");
            match (target.has("averageUtilization"), target.has("averageValue")) {
                (false, false) => errors.push(FieldError::required(
                    &at.child("averageUtilization"),
                    "must set either a target raw value or a target utilization",
                )),
                (true, true) => errors.push(FieldError::forbidden(
                    &at.child("averageValue"),
                    "may not set both a target raw value and a target utilization",
                )),
                _ => {}
            }
            target_of(target, &at, errors);
        }
        _ => {
            if *field == "object" {
                reference(
                    source.at("describedObject"),
                    &at.child("describedObject"),
                    errors,
                );
            }
            let (named, name_path) = (source.at("metric"), at.child("metric"));
            if named.text("name").is_empty() {
                let detail = "must specify a metric name";
                errors.push(FieldError::required(&name_path.child("name"), detail));
            }
            if named.has("selector") {
                let at = name_path.child("selector");
                selector(named.at("selector"), &at, errors);
            }
            target_of(source.at("target"), &at.child("target"), errors);
        }
    }
}

fn target_of(target: &Value, path: &Path<'_>, errors: &mut Errors) {
    let kind = target.text("type");
    let kinds = ["Utilization", "Value", "AverageValue"];
    let at = path.child("type");
    if kind.is_empty() {
        let detail = "must specify a metric target type";
        errors.push(FieldError::required(&at, detail));
    } else if !kinds.contains(&kind) {
        let detail = "must be either Utilization, Value, or AverageValue";
        errors.push(FieldError::invalid(&at, kind, detail));
    }
    for field in ["value", "averageValue"] {
        let quantity = Quantity::from_value(target.at(field));
        if quantity.is_some_and(|value| value.is_negative() || value.is_zero()) {
            let value = target.at(field).clone();
            let detail = "must be positive";
            errors.push(FieldError::invalid(&path.child(field), value, detail));
        }
    }
    if let Some(share) = target.int("averageUtilization").filter(|share| *share < 1) {
        let at = path.child("averageUtilization");
        errors.push(FieldError::invalid(&at, share, "must be greater than 0"));
    }
}

fn rules(rules: &Value, path: &Path<'_>, errors: &mut Errors) {
    not_negative(rules, path, "stabilizationWindowSeconds", errors);
    if let Some(window) = rules
        .int("stabilizationWindowSeconds")
        .filter(|window| *window > 3600)
    {
        let detail = "must be less than or equal to 3600";
        let at = path.child("stabilizationWindowSeconds");
        errors.push(FieldError::invalid(&at, window, detail));
    }
    let select = ["Disabled", "Max", "Min"];
    one_of_if_set(rules, path, "selectPolicy", &select, errors);
    let at = path.child("policies");
    let policies = rules.list("policies");
    if policies.is_empty() {
        let detail = "must specify at least one Policy";
        errors.push(FieldError::required(&at, detail));
    }
    for (index, policy) in policies.iter().enumerate() {
        let at = at.index(index);
        one_of_if_set(policy, &at, "type", &["Percent", "Pods"], errors);
        for field in ["value", "periodSeconds"] {
            let number = policy.int(field).unwrap_or(0);
            if number <= 0 {
                let detail = "must be greater than zero";
                errors.push(FieldError::invalid(&at.child(field), number, detail));
            }
        }
        if let Some(period) = policy.int("periodSeconds").filter(|period| *period > 1800) {
            let detail = "must be less than or equal to 1800";
            let at = at.child("periodSeconds");
            errors.push(FieldError::invalid(&at, period, detail));
        }
    }
}
