//! Configuration, secrets, namespaces, nodes, leases, events and the other small kinds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::json;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use kubewright_validation::check::{Errors, one_of, problems, qualified_name, quantity};
use kubewright_validation::formats::{self, Family};
use kubewright_validation::internal::shown;
use kubewright_validation::metadata::standard_finalizer;
use kubewright_validation::semantic::same;

const LARGEST: usize = 1024 * 1024;
const SEALED: &str = "field is immutable when `immutable` is set";

pub(crate) fn config_map(object: &Value, errors: &mut Errors) {
    let mut size = 0;
    for field in ["data", "binaryData"] {
        let path = Path::new(field);
        for (key, value) in object.entries(field) {
            problems(&path.key(key), key, formats::config_key(key), errors);
            if field == "data" && object.at("binaryData").get(key).is_some() {
                let detail = "duplicate of key present in binaryData";
                errors.push(FieldError::invalid(&path.key(key), key, detail));
            }
            size += match field {
                "data" => value.as_str().map_or(0, str::len),
                _ => bytes_of(value),
            };
        }
    }
    if size > LARGEST {
        // An empty field name stands for the whole object.
        errors.push(FieldError::too_long(&Path::new(""), LARGEST));
    }
}

pub(crate) fn sealed(fields: &[&str], new: &Value, old: &Value, errors: &mut Errors) {
    if !old.flag("immutable") {
        return;
    }
    if !new.flag("immutable") {
        errors.push(FieldError::forbidden(&Path::new("immutable"), SEALED));
    }
    for field in fields {
        // An empty map is not none here, but for the one that defaults make of none.
        let defaulted = *field == "data" && new.text("kind") == "ConfigMap";
        let appears = !defaulted && new.get(field).is_some() != old.get(field).is_some();
        if appears || !same(new.at(field), old.at(field)) {
            errors.push(FieldError::forbidden(&Path::new(field), SEALED));
        }
    }
}

pub(crate) fn secret(object: &Value, errors: &mut Errors) {
    let path = Path::new("data");
    let mut size = 0;
    for (key, value) in object.entries("data") {
        problems(&path.key(key), key, formats::config_key(key), errors);
        size += bytes_of(value);
    }
    if size > LARGEST {
        errors.push(FieldError::too_long(&path, LARGEST));
    }
    let data = object.at("data");
    let mut need = |key: &str| {
        // Null is a value without bytes.
        let missing = data.get(key).is_none();
        if missing {
            errors.push(FieldError::required(&path.key(key), ""));
        }
        !missing
    };
    match object.text("type") {
        "kubernetes.io/service-account-token" => {
            let annotation = "kubernetes.io/service-account.name";
            let annotations = object.at("metadata").at("annotations");
            if annotations.text(annotation).is_empty() {
                let path = Path::new("metadata.annotations");
                errors.push(FieldError::required(&path.key(annotation), ""));
            }
        }
        "kubernetes.io/dockercfg" if need(".dockercfg") => {
            json_text(data, ".dockercfg", &path, errors);
        }
        "kubernetes.io/dockerconfigjson" if need(".dockerconfigjson") => {
            json_text(data, ".dockerconfigjson", &path, errors);
        }
        "kubernetes.io/basic-auth"
            if data.get("username").is_none() && data.get("password").is_none() =>
        {
            need("username");
            need("password");
        }
        "kubernetes.io/ssh-auth" if data.text("ssh-privatekey").is_empty() => {
            errors.push(FieldError::required(&path.key("ssh-privatekey"), ""));
        }
        "kubernetes.io/tls" => {
            need("tls.crt");
            need("tls.key");
        }
        _ => {}
    }
}

pub(crate) fn namespace(object: &Value, errors: &mut Errors) {
    let path = Path::new("spec.finalizers");
    for name in object.at("spec").list("finalizers") {
        let name = name.as_str().unwrap_or_default();
        qualified_name(&path, name, errors);
        standard_finalizer(name, &path, errors);
    }
}

pub(crate) fn namespace_finalize(object: &Value, errors: &mut Errors) {
    let path = Path::new("spec.finalizers");
    for (index, name) in object.at("spec").list("finalizers").iter().enumerate() {
        let (name, at) = (name.as_str().unwrap_or_default(), path.index(index));
        qualified_name(&at, name, errors);
        standard_finalizer(name, &at, errors);
    }
}

pub(crate) fn namespace_status(new: &Value, errors: &mut Errors) {
    let phase = new.at("status").text("phase");
    let going = new.at("metadata").has("deletionTimestamp");
    let (wanted, when) = if going {
        ("Terminating", "not empty")
    } else {
        ("Active", "empty")
    };
    if phase != wanted {
        let detail = format!("may only be '{wanted}' if `deletionTimestamp` is {when}");
        let at = Path::new("status.Phase");
        errors.push(FieldError::invalid(&at, phase, &detail));
    }
}

pub(crate) fn node(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    taints(spec.list("taints"), errors);
    node_resources(object, errors);
    swap(object, errors);
    declared_features(object, errors);
    let path = Path::new("spec.podCIDRs");
    for (index, range) in spec.list("podCIDRs").iter().enumerate() {
        let range = text_of(range);
        problems(&path.index(index), range, formats::cidr(range), errors);
    }
    let ranges: Vec<&str> = spec.list("podCIDRs").iter().map(text_of).collect();
    if ranges.len() < 2 {
        return;
    }
    let families: Vec<_> = ranges.iter().map(|range| Family::of_range(range)).collect();
    if let Some(at) = families.iter().position(Option::is_none) {
        let wrong = ranges[at];
        let detail = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{at}]: <nil> (invalid CIDR address: {wrong})"
        );
        errors.push(FieldError::internal(&path, &detail));
    }
    if ranges.len() > 2 || !Family::are_both(&families) {
        let value = spec.at("podCIDRs").clone();
        let detail = "may specify no more than one CIDR for each IP family";
        errors.push(FieldError::invalid(&path, value, detail));
    }
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Checks the swap capacity of a node. The error's path begins with `metadata`, as the real API server's does.
fn swap(object: &Value, errors: &mut Errors) {
    let swap = object.at("status").at("nodeInfo").at("swap");
    if let Some(capacity) = swap.int("capacity").filter(|capacity| *capacity <= 0) {
        let at = Path::new("metadata.nodeSwapStatus.capacity");
        errors.push(FieldError::invalid(
            &at,
            capacity,
            "must be greater than zero",
        ));
    }
}

/// The names of features that a node says it has, in their order and each once.
fn declared_features(object: &Value, errors: &mut Errors) {
    const LONGEST: usize = 253;
    let path = Path::new("status.declaredFeatures");
    let names = object.at("status").list("declaredFeatures");
    let text = |at: usize| names[at].as_str().unwrap_or_default();
    for index in 0..names.len() {
        let (name, at) = (text(index), path.index(index));
        let invalid = format!("invalid feature name {}: ", quoted(name));
        if name.len() > LONGEST {
            let detail = format!("{invalid}must be no more than {LONGEST} characters");
            errors.push(FieldError::invalid(&at, name, &detail));
        } else if !is_feature(name) {
            let detail = format!(
                "{invalid}must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., \
                 MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
            );
            errors.push(FieldError::invalid(&at, name, &detail));
        }
        if index + 1 == names.len() {
            break;
        }
        let (next, at) = (text(index + 1), path.index(index + 1));
        if name == next {
            errors.push(FieldError::duplicate(&at, next));
        } else if name > next {
            let detail = "list must be sorted alphabetically";
            errors.push(FieldError::invalid(&at, next, detail));
        }
    }
}

fn is_feature(name: &str) -> bool {
    let is_segment = |segment: &str| {
        segment.starts_with(|c: char| c.is_ascii_alphabetic())
            && segment.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.split('/').all(is_segment)
}

/// Refuses an address that a node has twice.
fn node_addresses(object: &Value, errors: &mut Errors) {
    let path = Path::new("status.addresses");
    let all = object.at("status").list("addresses");
    for (index, address) in all.iter().enumerate() {
        let is_same = |other: &Value| {
            ["type", "address"]
                .into_iter()
                .all(|field| other.text(field) == address.text(field))
        };
        if all[..index].iter().any(is_same) {
            let value = shown("NodeAddress", address);
            errors.push(FieldError::duplicate_shown(&path.index(index), &value));
        }
    }
}

fn taints(taints: &[Value], errors: &mut Errors) {
    // The path says metadata, as the real one does.
    let path = Path::new("metadata.taints");
    for (index, taint) in taints.iter().enumerate() {
        let at = path.index(index);
        let (key, value) = (taint.text("key"), taint.text("value"));
        qualified_name(&at.child("key"), key, errors);
        let found = names::label_value(value);
        if !found.is_empty() {
            let detail = found.join(";");
            errors.push(FieldError::invalid(&at.child("value"), value, &detail));
        }
        let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        one_of(taint, &at, "effect", &effects, errors);
        let twice = |other: &Value| {
            other.text("key") == key && other.text("effect") == taint.text("effect")
        };
        if taints[..index].iter().any(twice) {
            let detail = "taints must be unique by key and effect pair";
            let value = shown("Taint", taint);
            errors.push(FieldError::duplicate_shown(&at, &value).with_detail(detail));
        }
    }
}

/// What a node has, and what it has left for pods.
pub(crate) fn node_resources(object: &Value, errors: &mut Errors) {
    for list in ["capacity", "allocatable"] {
        let path = Path::new("status");
        let path = path.child(list);
        for (name, amount) in object.at("status").entries(list) {
            quantity(name, amount, &path.child(name), errors);
        }
    }
}

pub(crate) fn node_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    node_resources(new, errors);
    declared_features(new, errors);
    node_addresses(new, errors);
    let ranges = before.list("podCIDRs");
    if !ranges.is_empty() && ranges != spec.list("podCIDRs") {
        errors.push(FieldError::forbidden(
            &Path::new("spec.podCIDRs"),
            "node updates may not change podCIDR except from \"\" to valid",
        ));
    }
    let provider = before.text("providerID");
    if !provider.is_empty() && provider != spec.text("providerID") {
        let detail = match spec.text("providerID") {
            "" => "field cannot be cleared once set",
            _ => "field cannot be modified once set",
        };
        let at = Path::new("spec.providerID");
        errors.push(FieldError::invalid(&at, Value::Null, detail));
    }
    taints(spec.list("taints"), errors);
    if spec.text("externalID") != before.text("externalID") {
        let at = Path::new("spec.externalID");
        errors.push(FieldError::forbidden(&at, "may not be updated"));
    }
}

fn bytes_of(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    let padding = text.bytes().rev().take_while(|b| *b == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding.min(2))
}

fn json_text(data: &Value, key: &str, path: &Path<'_>, errors: &mut Errors) {
    let decoded = STANDARD.decode(data.text(key)).unwrap_or_default();
    let hidden = "<secret contents redacted>";
    let detail = match json::parse(&decoded) {
        Ok(parsed) if parsed.value.is_object() || parsed.value.is_null() => return,
        Ok(parsed) => {
            let found = match parsed.value {
                Value::Array(_) => "array",
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                _ => "string",
            };
            format!(
                "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            )
        }
        Err(malformed) => malformed.to_string(),
    };
    errors.push(FieldError::invalid(&path.key(key), hidden, &detail));
}
