//! Dynamic resource allocation: classes of devices, claims for them, and what drivers say that there is.

pub(crate) mod claims;
pub(crate) mod selector;
mod slices;
mod status;

use kubewright_apimachinery::equality::same_type;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use kubewright_validation::check::{Errors, IMMUTABLE, declared_change, declared_extended_name};
use kubewright_validation::devices::parts::{MOST_CONFIGURATIONS, configuration, declared_at_most};
use kubewright_validation::internal::shown;
use kubewright_validation::semantic::same;

pub(crate) use status::claim_status;

/// The rules of the kind itself; `old` is null for a new object.
pub(crate) fn check(kind: &str, object: &Value, old: &Value, errors: &mut Errors) {
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
pub(crate) fn update(kind: &str, new: &Value, old: &Value, errors: &mut Errors) {
    let spec = match kind {
        "ResourceClaim" => "ResourceClaimSpec",
        "ResourceClaimTemplate" => "ResourceClaimTemplateSpec",
        _ => return,
    };
    let (value, before) = (new.at("spec"), old.at("spec"));
    if !same_type(&format!("api.resource.v1.{spec}"), value, before) {
        let at = Path::new("spec");
        errors.push(match kind {
            "ResourceClaim" => declared_change(spec, value, &at),
            _ => FieldError::invalid_shown(&at, &shown(spec, value), IMMUTABLE),
        });
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
    declared_at_most(
        spec.list("config"),
        MOST_CONFIGURATIONS,
        &at,
        errors,
        |config, at, errors| {
            configuration(config, is_known, at, errors);
        },
    );
    if spec.has("extendedResourceName") {
        let name = spec.text("extendedResourceName");
        declared_extended_name(name, &path.child("extendedResourceName"), errors);
    }
}
