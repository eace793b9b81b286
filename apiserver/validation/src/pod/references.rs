//! References to fields of the pod and to resources of its containers.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::quantity::Spelled;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::check::{Errors, qualified_name, required};

/// A field of the pod that its containers can see.
pub(super) fn field_reference(
    reference: &Value,
    supported: &[&str],
    path: &Path<'_>,
    errors: &mut Errors,
) {
    if !required(reference, path, "apiVersion", errors)
        || !required(reference, path, "fieldPath", errors)
    {
        return;
    }
    let field = reference.text("fieldPath");
    let version = reference.text("apiVersion");
    let at = path.child("fieldPath");
    let subscript = field
        .strip_suffix("']")
        .and_then(|field| field.split_once("['"));
    let known = match subscript {
        Some((base, _)) => matches!(base, "metadata.annotations" | "metadata.labels"),
        None => KNOWN_FIELDS.contains(&field),
    };
    if version != "v1" || !known {
        let why = if version == "v1" && subscript.is_some() {
            format!("field label does not support subscript: {field}")
        } else if version == "v1" {
            format!("field label not supported: {field}")
        } else {
            format!("unsupported pod version: {version}")
        };
        let detail = format!("error converting fieldPath: {why}");
        errors.push(FieldError::invalid(&at, field, &detail));
        return;
    }
    match subscript {
        Some(("metadata.annotations", key)) => qualified_name(path, &key.to_lowercase(), errors),
        Some((_, key)) => qualified_name(path, key, errors),
        None if !supported.contains(&field) => {
            errors.push(FieldError::not_supported(&at, field, supported));
        }
        None => {}
    }
}

const KNOWN_FIELDS: [&str; 13] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
];

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// A resource of a container, as a number of `divisor`s.
pub(super) fn resource_reference(
    reference: &Value,
    in_volume: bool,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let name = reference.text("resource");
    if in_volume && reference.text("containerName").is_empty() {
        errors.push(FieldError::required(&path.child("containerName"), ""));
    } else if name.is_empty() {
        errors.push(FieldError::required(&path.child("resource"), ""));
    } else if !RESOURCES.contains(&name)
        && !name.starts_with("limits.hugepages-")
        && !name.starts_with("requests.hugepages-")
    {
        let at = path.child("resource");
        errors.push(FieldError::not_supported(&at, name, &RESOURCES));
    }
    let Some(divisor) = Spelled::from_value(reference.at("divisor")) else {
        return;
    };
    if divisor.is_zero() {
        return;
    }
    let divisor = divisor.to_string();
    let (of, allowed): (&str, &[&str]) = match name.split_once('.').map_or("", |(_, of)| of) {
        "cpu" => ("cpu", &["1m", "1"]),
        "memory" => ("memory", &BYTES),
        "ephemeral-storage" => ("local ephemeral storage", &BYTES),
        of if of.starts_with("hugepages-") => ("hugepages", &BYTES),
        _ => return,
    };
    if !allowed.contains(&divisor.as_str()) {
        let list = if of == "cpu" {
            "1m and 1".to_owned()
        } else {
            allowed.join(", ")
        };
        let detail = format!("only divisor's values {list} are supported with the {of} resource");
        errors.push(FieldError::invalid(&path.child("divisor"), name, &detail));
    }
}

const BYTES: [&str; 13] = [
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
];
