//! The spec of persistent volume claims, of templates of claims and of the claims inside pods.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::check::{Errors, label, one_of_if_set, quantity, required, selector, subdomain};

const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
/// The modes of a volume.
pub const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];

/// The spec of a claim, also inside templates.
pub fn claim_spec(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    claim_spec_after(&Value::Null, spec, path, errors);
}

/// The same for a claim that was stored with the spec `old`.
pub fn claim_spec_after(old: &Value, spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let sources = ["dataSource", "dataSourceRef"];
    // Groups were not looked at once: a claim that names one may name any.
    let any_group = sources.iter().any(|field| old.at(field).has("apiGroup"));
    let modes = spec.list("accessModes");
    let modes_path = path.child("accessModes");
    if modes.is_empty() {
        let detail = "at least 1 access mode is required";
        errors.push(FieldError::required(&modes_path, detail));
    }
    if spec.has("selector") {
        selector(spec.at("selector"), &path.child("selector"), errors);
    }
    access_modes(modes, &modes_path, errors);
    let at = path.child("resources");
    let at = at.key("storage");
    let size = spec.at("resources").at("requests").at("storage");
    match Quantity::from_value(size) {
        None => errors.push(FieldError::required(&at, "")),
        Some(amount) if amount.is_negative() || amount.is_zero() => {
            let detail = "must be greater than zero";
            errors.push(FieldError::invalid(&at, size.clone(), detail));
        }
        Some(_) => quantity("storage", size, &at, errors),
    }
    let class = spec.text("storageClassName");
    if !class.is_empty() {
        subdomain(&path.child("storageClassName"), class, errors);
    }
    one_of_if_set(spec, path, "volumeMode", &VOLUME_MODES, errors);
    for field in sources {
        if spec.has(field) {
            data_source(spec.at(field), any_group, &path.child(field), errors);
        }
    }
    two_sources(spec, path, errors);
    let class = spec.text("volumeAttributesClassName");
    if !class.is_empty() {
        subdomain(&path.child("volumeAttributesClassName"), class, errors);
    }
}

/// Checks the access modes of a claim or a volume.
pub fn access_modes(modes: &[Value], path: &Path<'_>, errors: &mut Errors) {
    for mode in modes {
        let mode = mode.as_str().unwrap_or_default();
        if !MODES.contains(&mode) {
            errors.push(FieldError::not_supported(path, mode, &MODES));
        }
    }
    let once = modes.iter().any(|mode| mode == "ReadWriteOncePod");
    let other = modes
        .iter()
        .filter_map(Value::as_str)
        .any(|mode| mode != "ReadWriteOncePod" && MODES.contains(&mode));
    if once && other {
        let detail = "may not use ReadWriteOncePod with other access modes";
        errors.push(FieldError::forbidden(path, detail));
    }
}

/// Both ways to name a source have to name the same one.
fn two_sources(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    if !spec.has("dataSource") || !spec.has("dataSourceRef") {
        return;
    }
    let (source, reference) = (spec.at("dataSource"), spec.at("dataSourceRef"));
    let same = |field: &str| source.at(field) == reference.at(field);
    let detail = if !reference.text("namespace").is_empty() {
        "may not be specified when dataSourceRef.namespace is specified"
    } else if !["apiGroup", "kind", "name"].into_iter().all(same) {
        "must match dataSourceRef"
    } else {
        return;
    };
    // Where the value belongs, the API server shows a path, of which nothing is seen.
    errors.push(FieldError::invalid_shown(path, "{}", detail));
}

fn data_source(source: &Value, any_group: bool, path: &Path<'_>, errors: &mut Errors) {
    for field in ["name", "kind"] {
        required(source, path, field, errors);
    }
    let (group, kind) = (source.text("apiGroup"), source.text("kind"));
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        errors.push(FieldError::invalid(
            path,
            kind,
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
        ));
    }
    if !group.is_empty() && !any_group {
        subdomain(&path.child("apiGroup"), group, errors);
    }
    let namespace = source.text("namespace");
    if !namespace.is_empty() {
        label(&path.child("namespace"), namespace, errors);
    }
}
