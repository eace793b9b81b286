//! Where a pod may run: tolerations, affinity, spread, gates.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::check::{
    Errors, label, one_of, one_of_if_set, problems, qualified_name, selector, subdomain,
};

const NOT_AN_OPERATOR: &str = "not a valid selector operator";

/// The tolerations of a pod, or of what is added to one.
pub fn tolerations(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    for (index, toleration) in spec.list("tolerations").iter().enumerate() {
        let at = path.index(index);
        let (key, value) = (toleration.text("key"), toleration.text("value"));
        let (operator, effect) = (toleration.text("operator"), toleration.text("effect"));
        let operator_path = at.child("operator");
        if !key.is_empty() {
            qualified_name(&at.child("key"), key, errors);
        } else if operator != "Exists" {
            errors.push(FieldError::invalid(
                &operator_path,
                operator,
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
            ));
        }
        if toleration.has("tolerationSeconds") && effect != "NoExecute" {
            errors.push(FieldError::invalid(
                &at.child("effect"),
                effect,
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            ));
        }
        // Comparing numbers is behind a gate, which the text does not know of.
        let known: &[&str] = if matches!(operator, "Gt" | "Lt") {
            &["Equal", "Exists", "Lt", "Gt"]
        } else {
            &["Equal", "Exists"]
        };
        match operator {
            "Equal" | "" => {
                let found = names::label_value(value);
                if !found.is_empty() {
                    let detail = found.join(";");
                    errors.push(FieldError::invalid(&operator_path, value, &detail));
                }
            }
            "Exists" if value.is_empty() => {}
            "Exists" => errors.push(FieldError::invalid(
                &operator_path,
                value,
                "value must be empty when `operator` is 'Exists'",
            )),
            _ => errors.push(FieldError::not_supported(&operator_path, operator, known)),
        }
        let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        if !effect.is_empty() {
            one_of(toleration, &at, "effect", &effects, errors);
        }
    }
}

/// Checks the scheduling gates of a pod spec.
pub fn gates(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let gates = spec.list("schedulingGates");
    for (index, gate) in gates.iter().enumerate() {
        let name = gate.text("name");
        qualified_name(&path.index(index), name, errors);
        if gates[..index]
            .iter()
            .any(|other| other.text("name") == name)
        {
            errors.push(FieldError::duplicate(&path.index(index), name));
        }
    }
}

/// Checks the affinity of a pod spec.
pub fn affinity(affinity: &Value, path: &Path<'_>, errors: &mut Errors) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    if affinity.is_null() {
        return;
    }
    let node = affinity.at("nodeAffinity");
    let node_path = path.child("nodeAffinity");
    if node.has(REQUIRED) {
        node_selector(node.at(REQUIRED), &node_path.child(REQUIRED), errors);
    }
    let preferred = node_path.child(PREFERRED);
    for (index, term) in node.list(PREFERRED).iter().enumerate() {
        let at = preferred.index(index);
        weight(term, &at, errors);
        // Values of preferences were never checked.
        node_term(
            term.at("preference"),
            false,
            &at.child("preference"),
            errors,
        );
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let (pods, at) = (affinity.at(kind), path.child(kind));
        let required = at.child(REQUIRED);
        for (index, term) in pods.list(REQUIRED).iter().enumerate() {
            pod_term(term, &required.index(index), errors);
        }
        let preferred = at.child(PREFERRED);
        for (index, term) in pods.list(PREFERRED).iter().enumerate() {
            let at = preferred.index(index);
            weight(term, &at, errors);
            let at = at.child("podAffinityTerm");
            pod_term(term.at("podAffinityTerm"), &at, errors);
        }
    }
}

fn weight(term: &Value, path: &Path<'_>, errors: &mut Errors) {
    let weight = term.int("weight").unwrap_or(0);
    if !(1..=100).contains(&weight) {
        let detail = "must be in the range 1-100";
        errors.push(FieldError::invalid(&path.child("weight"), weight, detail));
    }
}

fn pod_term(term: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in ["labelSelector", "namespaceSelector"] {
        if term.has(field) {
            selector(term.at(field), &path.child(field), errors);
        }
    }
    for name in term.list("namespaces") {
        let name = name.as_str().unwrap_or_default();
        label(&path.child("namespace"), name, errors);
    }
    label_keys(term, path, errors);
    let at = path.child("topologyKey");
    let key = term.text("topologyKey");
    if key.is_empty() {
        errors.push(FieldError::required(&at, "can not be empty"));
    }
    qualified_name(&at, key, errors);
}

/// A required selector of nodes: at least one term, and every value a label's.
pub fn node_selector(selector: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("nodeSelectorTerms");
    let terms = selector.list("nodeSelectorTerms");
    if terms.is_empty() {
        let detail = "must have at least one node selector term";
        errors.push(FieldError::required(&at, detail));
    }
    for (index, term) in terms.iter().enumerate() {
        node_term(term, true, &at.index(index), errors);
    }
}

fn node_term(term: &Value, with_values: bool, path: &Path<'_>, errors: &mut Errors) {
    let expressions = path.child("matchExpressions");
    for (index, expression) in term.list("matchExpressions").iter().enumerate() {
        node_requirement(expression, with_values, &expressions.index(index), errors);
    }
    let fields = path.child("matchFields");
    for (index, field) in term.list("matchFields").iter().enumerate() {
        let at = fields.index(index);
        let values = field.list("values");
        match field.text("operator") {
            "In" | "NotIn" if values.len() != 1 => errors.push(FieldError::required(
                &at.child("values"),
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
            )),
            "In" | "NotIn" => {}
            other => errors.push(FieldError::invalid(
                &at.child("operator"),
                other,
                NOT_AN_OPERATOR,
            )),
        }
        let key = field.text("key");
        if key != "metadata.name" {
            let detail = "not a valid field selector key";
            errors.push(FieldError::invalid(&at.child("key"), key, detail));
            continue;
        }
        let at = at.child("values");
        for (index, value) in values.iter().enumerate() {
            subdomain(&at.index(index), value.as_str().unwrap_or_default(), errors);
        }
    }
}

fn node_requirement(expression: &Value, with_values: bool, path: &Path<'_>, errors: &mut Errors) {
    let values = expression.list("values");
    let at = path.child("values");
    match expression.text("operator") {
        "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
            &at,
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
            &at,
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "Gt" | "Lt" if values.len() != 1 => errors.push(FieldError::required(
            &at,
            "must be specified single value when `operator` is 'Lt' or 'Gt'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => errors.push(FieldError::invalid(
            &path.child("operator"),
            other,
            NOT_AN_OPERATOR,
        )),
    }
    qualified_name(&path.child("key"), expression.text("key"), errors);
    if with_values {
        for (index, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            problems(&at.index(index), value, names::label_value(value), errors);
        }
    }
}

/// Labels of the pod itself that the others must have, or must not have.
fn label_keys(term: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (selector, keys) = (term.at("labelSelector"), term.list("matchLabelKeys"));
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        let at = path.child(field);
        let keys = term.list(field);
        if !keys.is_empty() && selector.is_null() {
            let detail = "must not be specified when labelSelector is not set";
            errors.push(FieldError::forbidden(&at, detail));
            continue;
        }
        for (index, key) in keys.iter().enumerate() {
            qualified_name(&at.index(index), key.as_str().unwrap_or_default(), errors);
        }
    }
    let labels = selector.entries("matchLabels").map(|(key, _)| key);
    let mut seen: Vec<&str> = labels.collect();
    for expression in selector.list("matchExpressions") {
        let key = expression.text("key");
        let index = keys.iter().position(|wanted| wanted == key);
        if let Some(index) = index.filter(|_| seen.contains(&key)) {
            // The pod's own label was added to the selector before.
            let detail = "exists in both matchLabelKeys and labelSelector";
            errors.push(FieldError::invalid(&path.index(index), key, detail));
        }
        seen.push(key);
    }
    let at = path.child("matchLabelKeys");
    for (index, key) in keys.iter().enumerate() {
        if term.list("mismatchLabelKeys").contains(key) {
            let detail = "exists in both matchLabelKeys and mismatchLabelKeys";
            errors.push(FieldError::invalid(&at.index(index), key.clone(), detail));
        }
    }
}

/// Checks the topology spread constraints of a pod spec.
pub fn spread(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let constraints = spec.list("topologySpreadConstraints");
    for (index, constraint) in constraints.iter().enumerate() {
        let at = path.index(index);
        let skew = constraint.int("maxSkew").unwrap_or(0);
        if skew <= 0 {
            let detail = "must be greater than zero";
            errors.push(FieldError::invalid(&at.child("maxSkew"), skew, detail));
        }
        let key = constraint.text("topologyKey");
        let key_path = at.child("topologyKey");
        if key.is_empty() {
            errors.push(FieldError::required(&key_path, "can not be empty"));
        }
        let when = constraint.text("whenUnsatisfiable");
        if !matches!(when, "DoNotSchedule" | "ScheduleAnyway") {
            errors.push(FieldError::not_supported(
                &at.child("whenUnsatisfiable"),
                when,
                &["DoNotSchedule", "ScheduleAnyway"],
            ));
        }
        let pair = |other: &Value| {
            other.text("topologyKey") == key && other.text("whenUnsatisfiable") == when
        };
        if constraints[index + 1..].iter().any(pair) {
            errors.push(FieldError::duplicate(
                &at.child("{topologyKey, whenUnsatisfiable}"),
                format!("{{{key}, {when}}}"),
            ));
        }
        if let Some(least) = constraint.int("minDomains") {
            let at = at.child("minDomains");
            if least <= 0 {
                let detail = "must be greater than zero";
                errors.push(FieldError::invalid(&at, least, detail));
            }
            if when != "DoNotSchedule" {
                let detail = format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}"
                );
                errors.push(FieldError::invalid(&at, least, &detail));
            }
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            one_of_if_set(constraint, &at, field, &["Honor", "Ignore"], errors);
        }
        label_keys(constraint, &at, errors);
        if constraint.has("labelSelector") {
            let at = at.child("labelSelector");
            selector(constraint.at("labelSelector"), &at, errors);
        }
    }
}
