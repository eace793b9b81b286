//! Which autoscalers are rejected, and with which words.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::conversion;
use kubewright_validation::check::{
    Errors, declaratively, label, not_negative, one_of_if_set, problems, quantity, required,
};
use kubewright_validation::pod::container_resource_name;

/// An autoscaler of either version; the paths are those of version 2.
pub(super) fn autoscaler(version: &str, object: &Value, errors: &mut Errors) {
    if version == "v1" {
        let mut object = object.clone();
        conversion::to_v2(&mut object);
        return autoscaler("v2", &object, errors);
    }
    let spec = object.at("spec");
    let path = Path::new("spec");
    let least = spec.int("minReplicas");
    let most = spec.int("maxReplicas").unwrap_or(0);
    declaratively(errors, |errors| {
        not_negative(spec, &path, "minReplicas", errors);
    });
    let at = path.child("maxReplicas");
    if most == 0 {
        let handwritten = FieldError::required(&at, "must be set and greater than 0");
        errors.push(FieldError::required(&at, "").declarative_for(handwritten));
    } else if most < 0 {
        let detail = "must be greater than or equal to 1";
        errors.push(FieldError::invalid(&at, most, detail).declarative());
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
    let counts = |metric: &Value| matches!(metric.text("type"), "Object" | "External");
    if least == Some(0) && !spec.list("metrics").iter().any(counts) {
        let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(FieldError::forbidden(&at, detail));
    }
    let behavior = spec.at("behavior");
    let at = path.child("behavior");
    for direction in ["scaleUp", "scaleDown"] {
        if behavior.has(direction) {
            rules(behavior.at(direction), &at.child(direction), errors);
        }
    }
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
    let why = match group(version) {
        Ok("") if reference.text("kind") != "ReplicationController" => {
            "apiVersion must specify API group".to_owned()
        }
        Ok(_) => return,
        Err(why) => why,
    };
    errors.push(FieldError::invalid(path, version, &why));
}

/// The group that a version names. A slash alone counts as nothing.
fn group(version: &str) -> Result<&str, String> {
    match version.matches('/').count() {
        0 | 1 => Ok(version.split_once('/').map_or("", |(group, _)| group)),
        _ => Err(format!("unexpected GroupVersion string: {version}")),
    }
}

/// The types of metrics and their fields, in the order in which they are looked for.
const KINDS: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];

fn metric(metric: &Value, path: &Path<'_>, errors: &mut Errors) {
    let kind = metric.text("type");
    let expected = KINDS.iter().find(|(name, _)| *name == kind);
    let at = path.child("type");
    if kind.is_empty() {
        let detail = "must specify a metric source type";
        errors.push(FieldError::required(&at, detail));
    }
    if expected.is_none() {
        let mut names = KINDS.map(|(name, _)| name);
        names.sort_unstable();
        errors.push(FieldError::not_supported(&at, kind, &names));
    }
    let present = |(_, field): &&(&str, &str)| metric.has(field);
    if let Some((_, field)) = KINDS.iter().find(present) {
        source(field, metric.at(field), &path.child(field), errors);
    }
    match expected {
        Some((_, field)) if !metric.has(field) => {
            let detail = "must populate information for the given metric source";
            errors.push(FieldError::required(&path.child(field), detail));
        }
        _ => {}
    }
    if KINDS.iter().filter(present).count() != 1 {
        for (_, field) in KINDS.iter().filter(present) {
            if expected.is_none_or(|(_, expected)| expected != field) {
                let detail = "must populate the given metric source only";
                errors.push(FieldError::forbidden(&path.child(field), detail));
            }
        }
    }
}

fn source(field: &str, source: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (target, at) = (source.at("target"), path.child("target"));
    if matches!(field, "resource" | "containerResource") {
        if source.text("name").is_empty() {
            let detail = "must specify a resource name";
            errors.push(FieldError::required(&path.child("name"), detail));
        } else if field == "containerResource" {
            container_resource_name(source.text("name"), &path.child("name"), errors);
        }
        if field == "containerResource" {
            let (container, at) = (source.text("container"), path.child("container"));
            if container.is_empty() {
                errors.push(FieldError::required(&at, "must specify a container"));
            } else {
                label(&at, container, errors);
            }
        }
    } else {
        if field == "object" {
            let (object, at) = (source.at("describedObject"), path.child("describedObject"));
            reference(object, &at, errors);
            let version = object.text("apiVersion");
            if let Err(why) = group(version) {
                errors.push(FieldError::invalid(&at.child("apiVersion"), version, &why));
            }
        }
        let (name, at) = (source.at("metric").text("name"), path.child("metric.name"));
        if name.is_empty() {
            let detail = "must specify a metric name";
            errors.push(FieldError::required(&at, detail));
        } else {
            problems(&at, name, names::path_segment(name), errors);
        }
    }
    target_of(target, &at, errors);
    let has = |field: &str| target.has(field);
    let (value, average) = (has("value"), has("averageValue"));
    let mut require = |field: &str, detail: &str| {
        errors.push(FieldError::required(&at.child(field), detail));
    };
    match field {
        "object" if !value && !average => {
            require(
                "averageValue",
                "must set either a target value or averageValue",
            );
        }
        "pods" if !average => {
            require(
                "averageValue",
                "must specify a positive target averageValue",
            );
        }
        "external" if !value && !average => require(
            "averageValue",
            "must set either a target value for metric or a per-pod target",
        ),
        "external" if value && average => {
            let detail = "may not set both a target value for metric and a per-pod target";
            errors.push(FieldError::forbidden(&at.child("value"), detail));
        }
        "resource" | "containerResource" => match (has("averageUtilization"), average) {
            (false, false) => require(
                "averageUtilization",
                "must set either a target raw value or a target utilization",
            ),
            (true, true) => {
                let detail = "may not set both a target raw value and a target utilization";
                errors.push(FieldError::forbidden(&at.child("averageValue"), detail));
            }
            _ => {}
        },
        _ => {}
    }
}

fn target_of(target: &Value, path: &Path<'_>, errors: &mut Errors) {
    let kind = target.text("type");
    let at = path.child("type");
    if kind.is_empty() {
        let detail = "must specify a metric target type";
        errors.push(FieldError::required(&at, detail));
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
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
    let detail = match rules.int("stabilizationWindowSeconds") {
        Some(..0) => "must be greater than or equal to zero",
        Some(3601..) => "must be less than or equal to 3600",
        _ => "",
    };
    if !detail.is_empty() {
        let window = rules.at("stabilizationWindowSeconds").clone();
        let at = path.child("stabilizationWindowSeconds");
        errors.push(FieldError::invalid(&at, window, detail));
    }
    let select = ["Disabled", "Max", "Min"];
    one_of_if_set(rules, path, "selectPolicy", &select, errors);
    if rules.has("tolerance") {
        let at = path.child("tolerance");
        quantity("tolerance", rules.at("tolerance"), &at, errors);
    }
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
