//! Dynamic resource allocation: classes of devices, claims for them, and what drivers say that there is.

mod claims;
mod names;
mod selector;
mod slices;
mod status;

use kubewright_apimachinery::equality::same_type;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::check::{Errors, IMMUTABLE, is_extended};
use crate::kinds::internal::shown;
use crate::kinds::strategy::same;

pub(super) use status::claim_status;

/// The longest JSON of a driver's own parameters.
const MOST_PARAMETERS: usize = 10 * 1024;

const MOST_CONFIGURATIONS: usize = 32;

/// The rules of the kind itself; `old` is null for a new object.
pub(super) fn check(kind: &str, object: &Value, old: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    match kind {
        "DeviceClass" => class(spec, old.at("spec"), &path, errors),
        "ResourceClaim" if old.is_null() => claims::spec(spec, &path, errors),
        "ResourceClaimTemplate" => claims::template(spec, &path, errors),
        "ResourceSlice" => slices::spec(spec, old.at("spec"), &path, errors),
        _ => {}
    }
}

/// What only an update can do wrong.
pub(super) fn update(kind: &str, new: &Value, old: &Value, errors: &mut Errors) {
    let spec = match kind {
        "ResourceClaim" => "ResourceClaimSpec",
        "ResourceClaimTemplate" => "ResourceClaimTemplateSpec",
        _ => return,
    };
    let (value, before) = (new.at("spec"), old.at("spec"));
    if !same_type(&format!("api.resource.v1.{spec}"), value, before) {
        let at = Path::new("spec");
        errors.push(FieldError::invalid_shown(
            &at,
            &shown(spec, value),
            IMMUTABLE,
        ));
    }
}

fn class(spec: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) {
    // What was stored once is taken again.
    let selectors_are_known = !old.is_null() && same(spec.at("selectors"), old.at("selectors"));
    if !selectors_are_known {
        selector::all(spec, path, errors);
    }
    let is_known = !old.is_null() && same(spec.at("config"), old.at("config"));
    let at = path.child("config");
    at_most(
        spec.list("config"),
        MOST_CONFIGURATIONS,
        &at,
        errors,
        |config, at, errors| {
            configuration(config, is_known, at, errors);
        },
    );
    let name = spec.text("extendedResourceName");
    if spec.has("extendedResourceName") && !is_extended(name) {
        let at = path.child("extendedResourceName");
        let detail = "must be a valid extended resource name";
        errors.push(FieldError::invalid(&at, name, detail));
    }
}

/// What a driver is told; `known` parameters may be of any length.
fn configuration(config: &Value, known: bool, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("opaque");
    let opaque = config.at("opaque");
    if opaque.is_null() {
        errors.push(FieldError::required(&at, ""));
        return;
    }
    super::storage::driver_name(opaque.text("driver"), &at.child("driver"), errors);
    let limit = if known { usize::MAX } else { MOST_PARAMETERS };
    parameters(
        opaque.at("parameters"),
        limit,
        &at.child("parameters"),
        errors,
    );
}

/// Parameters in a driver's own form: some JSON object.
fn parameters(value: &Value, limit: usize, path: &Path<'_>, errors: &mut Errors) {
    match value {
        Value::Null => errors.push(FieldError::required(path, "")),
        value if limit < usize::MAX && value.to_string().len() > limit => {
            errors.push(FieldError::too_long(path, limit));
        }
        Value::Object(_) => {}
        _ => errors.push(FieldError::invalid(
            path,
            "<value omitted>",
            "must be a valid JSON object",
        )),
    }
}

/// Checks each item of a list, unless there are too many of them.
fn at_most(
    items: &[Value],
    most: usize,
    path: &Path<'_>,
    errors: &mut Errors,
    mut item: impl FnMut(&Value, &Path<'_>, &mut Errors),
) -> bool {
    if items.len() > most {
        errors.push(FieldError::too_many(path, items.len(), most));
        return false;
    }
    for (index, value) in items.iter().enumerate() {
        item(value, &path.index(index), errors);
    }
    true
}

/// Checks each item of a list and that no two are known by the same text.
fn set<'v>(
    items: &'v [Value],
    most: usize,
    path: &Path<'_>,
    errors: &mut Errors,
    key: impl Fn(&'v Value) -> &'v str,
    item: impl FnMut(&Value, &Path<'_>, &mut Errors),
) {
    if !at_most(items, most, path, errors, item) {
        return;
    }
    for (index, value) in items.iter().enumerate() {
        let this = key(value);
        if items[..index].iter().any(|other| key(other) == this) {
            errors.push(FieldError::duplicate(&path.index(index), this));
        }
    }
}

/// The item itself, where a list is of texts.
fn as_text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
