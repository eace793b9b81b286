//! Validation shared by claims, classes and slices: configurations, sets, and the identity of a device.

use kubewright_apimachinery::conform::{Medium, write_part_empties};
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::html_escaped;
use kubewright_apimachinery::json::ordered::part_text;
use kubewright_apimachinery::view::View;
use serde_json::{Value, json};

use crate::check::{Errors, declared_driver_name};

/// Maximum length of the JSON of a driver's parameters.
pub const MOST_PARAMETERS: usize = 10 * 1024;

/// How many configurations a class or a claim may have.
pub const MOST_CONFIGURATIONS: usize = 32;

/// Checks the opaque configuration of a driver; parameters that are `known` already may have any length.
pub fn configuration(config: &Value, known: bool, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("opaque");
    let opaque = config.at("opaque");
    if opaque.is_null() {
        errors.push(FieldError::required(&at, ""));
        return;
    }
    declared_driver_name(opaque.text("driver"), &at.child("driver"), errors);
    let limit = if known { usize::MAX } else { MOST_PARAMETERS };
    parameters(
        opaque.at("parameters"),
        limit,
        &at.child("parameters"),
        errors,
    );
}

/// Checks a driver's parameters: any JSON object.
pub fn parameters(value: &Value, limit: usize, path: &Path<'_>, errors: &mut Errors) {
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
pub fn at_most(
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

/// The same where declarative validation counts the items.
pub fn declared_at_most(
    items: &[Value],
    most: usize,
    path: &Path<'_>,
    errors: &mut Errors,
    item: impl FnMut(&Value, &Path<'_>, &mut Errors),
) {
    if items.len() > most {
        errors.push(FieldError::too_many(path, items.len(), most).declarative());
    } else {
        at_most(items, most, path, errors, item);
    }
}

/// The same, and no two items may be the same in all `keys` or, where there are none, as a whole. `kind` is the type of the
/// items, in whose form an error shows one.
pub fn declared_set(
    items: &[Value],
    most: usize,
    (kind, keys): (&str, &[&str]),
    path: &Path<'_>,
    errors: &mut Errors,
    item: impl FnMut(&Value, &Path<'_>, &mut Errors),
) {
    let all = if items.len() > most { &[] } else { items };
    let is_double = |index: usize| {
        let value = &all[index];
        all[..index].iter().any(|other| match keys {
            [] => other == value,
            keys => keys.iter().all(|key| other.text(key) == value.text(key)),
        })
    };
    let double: Vec<usize> = (0..all.len()).filter(|index| is_double(*index)).collect();
    let kind = format!("api.resource.v1.{kind}");
    for index in &double {
        let mut shown = all[*index].clone();
        write_part_empties(&kind, &mut shown, Medium::Json);
        let shown = html_escaped(part_text(&kind, &shown));
        let error = FieldError::duplicate_shown(&path.index(*index), &shown);
        errors.push(error.declarative_for(None));
    }
    declared_at_most(items, most, path, errors, item);
    for index in double {
        let (at, value) = (path.index(index), &all[index]);
        let error = match keys {
            [] => FieldError::duplicate(&at, value.clone()),
            [key] => FieldError::duplicate(&at, value.text(key)),
            _ => FieldError::duplicate_shown(&at, &shown_identity(value)),
        };
        errors.push(error.covered());
    }
}

/// What makes names a set: all of each.
pub const NAMES: (&str, &[&str]) = ("", &[]);

/// A name in a list of names.
pub fn as_text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The fields that tell the devices of a claim apart.
pub const IDENTITY: [&str; 4] = ["driver", "pool", "device", "shareID"];

/// A device's identity as Go writes the struct, whose fields keep their order.
pub fn shown_identity(device: &Value) -> String {
    let [driver, pool, device, share] = device_identity(device).map(|text| json!(text));
    format!(r#"{{"Driver":{driver},"Pool":{pool},"Device":{device},"ShareID":{share}}}"#)
}

/// The identity of a device in a claim.
pub fn device_identity(device: &Value) -> [&str; 4] {
    IDENTITY.map(|field| device.text(field))
}
