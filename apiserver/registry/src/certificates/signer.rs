//! Selection by the name of a signer: `spec.signerName`.

use std::borrow::Cow;

use kubewright_apimachinery::view::View;
use serde_json::Value;

/// Checks whether a field can be selected.
pub(super) fn check_field(field: &str) -> Result<(), String> {
    match field {
        "metadata.name" | "spec.signerName" => Ok(()),
        _ => Err(format!("field label not supported: {field}")),
    }
}

/// Returns the value of a field that can be selected.
pub(super) fn field_value<'a>(object: &'a Value, field: &str) -> Option<Cow<'a, str>> {
    match field {
        "metadata.name" => Some(object.at("metadata").text("name").into()),
        "spec.signerName" => Some(object.at("spec").text("signerName").into()),
        _ => None,
    }
}
