//! Validation shared by claims, classes and slices: configurations, sets, and the identity of a device.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use kubewright_validation::check::Errors;

/// Maximum length of the JSON of a driver's parameters.
pub(super) const MOST_PARAMETERS: usize = 10 * 1024;

pub(super) const MOST_CONFIGURATIONS: usize = 32;

/// Checks the opaque configuration of a driver; parameters that are `known` already may have any length.
pub(super) fn configuration(config: &Value, known: bool, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("opaque");
    let opaque = config.at("opaque");
    if opaque.is_null() {
        errors.push(FieldError::required(&at, ""));
        return;
    }
    kubewright_validation::check::driver_name(opaque.text("driver"), &at.child("driver"), errors);
    let limit = if known { usize::MAX } else { MOST_PARAMETERS };
    parameters(
        opaque.at("parameters"),
        limit,
        &at.child("parameters"),
        errors,
    );
}

/// Checks a driver's parameters: any JSON object.
pub(super) fn parameters(value: &Value, limit: usize, path: &Path<'_>, errors: &mut Errors) {
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

/// Checks each item of a list, unless the list is too long.
pub(super) fn at_most(
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

/// Checks each item of a list, and that no two items have the same key.
pub(super) fn set<'v>(
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

/// The key of an item in a list of strings: the item itself.
pub(super) fn as_text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The identity of a device in a claim.
pub(crate) fn device_identity(device: &Value) -> [&str; 4] {
    ["driver", "pool", "device", "shareID"].map(|field| device.text(field))
}
