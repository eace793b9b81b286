//! Rules that 1.36 relaxed, of lists deep inside of an object.

use std::cmp::Ordering;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use kubewright_validation::formats;
use serde_json::Value;

use crate::dra::validation::{claims, selector};
use crate::strategy::Findings;

/// Checks the rules of containers' ends, unless one started all containers before.
pub(super) fn only_restart(at: &[&str], object: &Value, old: &Value, found: &mut Findings) {
    let below = |object| at.iter().fold(object, |part, field| Value::at(part, field));
    if actions(below(old))
        .iter()
        .any(|(_, action)| *action == "RestartAllContainers")
    {
        return;
    }
    sidecars(below(object), at, found);
    for (path, action) in actions(below(object)) {
        let path = format!("{}.{path}", at.join("."));
        let is_refused = found.errors.iter().any(|error| error.field() == path);
        if is_refused || action == "RestartAllContainers" {
            let error = FieldError::not_supported(&Path::new(&path), action, &["Restart"]);
            replace(found, error);
        }
    }
}

/// Whether validation did not get as far as the pod spec at a path: no version looks at the template of a selector that is none.
pub(super) fn is_unchecked(at: &[&str], found: &Findings) -> bool {
    let is_no_selector = |error: &FieldError| {
        error.field() == "spec.selector" && error.to_string().ends_with("invalid label selector")
    };
    at == ["spec", "template", "spec"] && found.errors.iter().any(is_no_selector)
}

/// A sidecar had no rules.
fn sidecars(spec: &Value, at: &[&str], found: &mut Findings) {
    let (spec_path, field) = (at.join("."), "restartPolicyRules");
    for (index, container) in spec.list("initContainers").iter().enumerate() {
        if container.text("restartPolicy") != "Always" || container.list(field).is_empty() {
            continue;
        }
        let path = format!("{spec_path}.initContainers[{index}].{field}");
        let errors = &mut found.errors;
        let is_newer = |error: &FieldError| error.field().starts_with(&path);
        let follows = |error: &FieldError| follows_rules(error, &spec_path, index);
        let place = errors.iter().position(is_newer);
        let place = place.or_else(|| errors.iter().position(follows));
        let place = place.unwrap_or(errors.len());
        errors.retain(|error| !is_newer(error));
        let detail =
            "restartPolicyRules are not allowed for init containers with restart policy Always";
        errors.insert(place, FieldError::forbidden(&Path::new(&path), detail));
    }
}

/// Whether what is wrong with a pod is found after the rules of the init container with this index.
fn follows_rules(error: &FieldError, spec: &str, index: usize) -> bool {
    const OF_CONTAINER: [&str; 4] = [
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
    ];
    let field = error.field().strip_prefix(spec);
    let Some(field) = field.and_then(|field| field.strip_prefix('.')) else {
        return false;
    };
    let Some(place) = field.strip_prefix("initContainers[") else {
        return !field.starts_with("volumes") && !field.starts_with("containers");
    };
    let Some((other, rest)) = place.split_once(']') else {
        return true;
    };
    match other.parse::<usize>().unwrap_or_default().cmp(&index) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal => {
            let rest = rest.trim_start_matches('.');
            let is_repeated = rest == "name" && error.body().starts_with("Duplicate value");
            is_repeated || OF_CONTAINER.iter().any(|part| rest.starts_with(part))
        }
    }
}

/// What the rules of a pod's containers do, and where it stands. Those that always restart have none that count.
fn actions(spec: &Value) -> Vec<(String, &str)> {
    let mut all = Vec::new();
    for list in ["initContainers", "containers"] {
        for (index, container) in spec.list(list).iter().enumerate() {
            if container.text("restartPolicy") == "Always" {
                continue;
            }
            for (rule, item) in container.list("restartPolicyRules").iter().enumerate() {
                let path = format!("{list}[{index}].restartPolicyRules[{rule}].action");
                all.push((path, item.text("action")));
            }
        }
    }
    all
}

/// A constraint matches an attribute, and no expression asks whether a device is shared.
pub(super) fn unshared(object: &Value, old: &Value, found: &mut Findings) {
    for error in &mut found.errors {
        if error.body().ends_with(claims::NO_ATTRIBUTE) {
            *error = FieldError::required(&Path::new(error.field()).child("matchAttribute"), "");
        }
    }
    // A claim cannot change, so that nothing else is said of it.
    if object.text("kind") == "ResourceClaim" && !old.is_null() {
        return;
    }
    let before = expressions(old.at("spec"), "spec");
    for (path, expression) in expressions(object.at("spec"), "spec") {
        let is_known = before.iter().any(|(_, known)| *known == expression);
        let is_refused = found.errors.iter().any(|error| error.field() == path);
        if !is_known
            && !is_refused
            && let Err(error) = selector::check_unshared(&Path::new(&path), expression)
        {
            found.errors.push(error);
        }
    }
}

/// The expressions of selectors, and where they stand.
fn expressions<'a>(value: &'a Value, path: &str) -> Vec<(String, &'a str)> {
    match value {
        // Validation looks no further into a request of two forms.
        Value::Object(_) if value.has("exactly") && !value.list("firstAvailable").is_empty() => {
            Vec::new()
        }
        Value::Object(fields) => {
            let mut all = Vec::new();
            if let Some(expression) = value.at("cel").at("expression").as_str() {
                all.push((format!("{path}.cel.expression"), expression));
            }
            let parts = fields.iter();
            all.extend(parts.flat_map(|(name, part)| expressions(part, &format!("{path}.{name}"))));
            all
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            let all =
                items.flat_map(|(index, item)| expressions(item, &format!("{path}[{index}]")));
            all.collect()
        }
        _ => Vec::new(),
    }
}

/// Whether an error is about how an address is written, which was of no interest.
pub(super) fn is_strict(error: &FieldError) -> bool {
    formats::STRICT
        .iter()
        .any(|detail| error.body().ends_with(detail))
}

/// Puts an error in the place of those about the same field, or last.
pub(super) fn replace(found: &mut Findings, error: FieldError) {
    let errors = &mut found.errors;
    let is_same = |other: &FieldError| other.field() == error.field();
    let at = errors.iter().position(is_same).unwrap_or(errors.len());
    errors.retain(|other| other.field() != error.field());
    errors.insert(at, error);
}
