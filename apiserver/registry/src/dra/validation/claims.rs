//! Claims for devices, and the templates that pods' claims are made from.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::selector;
use kubewright_validation::check::{Errors, declaratively, label, subdomain};
use kubewright_validation::devices::parts::{
    NAMES, as_text, configuration, declared_at_most, declared_set,
};
use kubewright_validation::devices::{names, taints};
use kubewright_validation::metadata;

const MOST: usize = 32;
const MOST_ALTERNATIVES: usize = 8;
/// What is said of a constraint about no attribute.
pub(crate) const NO_ATTRIBUTE: &str = "exactly one of \"matchAttribute\" or \"distinctAttribute\" is \
                                       required, but multiple fields are set";
const WHICH: &str = "exactly one of `exactly` or `firstAvailable` is required";

pub(crate) fn template(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    metadata::template(spec.at("metadata"), &path.child("metadata"), errors);
    self::spec(spec.at("spec"), &path.child("spec"), errors);
}

pub(crate) fn spec(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("devices");
    let devices = spec.at("devices");
    let requests = devices.list("requests");
    declared_set(
        requests,
        MOST,
        ("DeviceRequest", &["name"]),
        &path.child("requests"),
        errors,
        request,
    );
    let at = path.child("constraints");
    declared_at_most(
        devices.list("constraints"),
        MOST,
        &at,
        errors,
        |constraint, at, errors| {
            self::constraint(constraint, requests, at, errors);
        },
    );
    let at = path.child("config");
    declared_at_most(
        devices.list("config"),
        MOST,
        &at,
        errors,
        |config, at, errors| {
            references(config, requests, at, errors);
            configuration(config, false, at, errors);
        },
    );
}

fn request(request: &Value, path: &Path<'_>, errors: &mut Errors) {
    label(&path.child("name"), request.text("name"), errors);
    let alternatives = request.list("firstAvailable");
    match (request.has("exactly"), alternatives.is_empty()) {
        (false, true) => errors.push(FieldError::required(path, WHICH)),
        (true, false) => {
            let detail = format!("{WHICH}, but multiple fields are set");
            errors.push(FieldError::invalid(path, Value::Null, &detail));
            // Handwritten validation looks no further.
            let mut further = Errors::new();
            exactly(request, path, &mut further);
            first_available(alternatives, path, &mut further);
            let declared = further.into_iter().filter(FieldError::is_declarative);
            errors.extend(declared.map(|error| error.declarative_for(None)));
        }
        (true, true) => exactly(request, path, errors),
        (false, false) => first_available(alternatives, path, errors),
    }
}

fn exactly(request: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (exact, at) = (request.at("exactly"), path.child("exactly"));
    class(exact, &at, errors);
    devices(exact, &at, errors);
}

fn first_available(alternatives: &[Value], path: &Path<'_>, errors: &mut Errors) {
    declared_set(
        alternatives,
        MOST_ALTERNATIVES,
        ("DeviceSubRequest", &["name"]),
        &path.child("firstAvailable"),
        errors,
        |alternative, at, errors| {
            label(&at.child("name"), alternative.text("name"), errors);
            declaratively(errors, |errors| class(alternative, at, errors));
            devices(alternative, at, errors);
        },
    );
}

fn class(request: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("deviceClassName");
    match request.text("deviceClassName") {
        "" => errors.push(FieldError::required(&at, "")),
        class => subdomain(&at, class, errors),
    }
}

/// Which devices and how many.
fn devices(request: &Value, path: &Path<'_>, errors: &mut Errors) {
    selector::all(request, path, errors);
    let (mode, count) = (
        request.text("allocationMode"),
        request.int("count").unwrap_or(0),
    );
    let at = path.child("count");
    match mode {
        "All" if count != 0 => {
            let detail = "must not be specified when allocationMode is 'All'";
            errors.push(FieldError::invalid(&at, count, detail));
        }
        "ExactCount" if count <= 0 => {
            errors.push(FieldError::invalid(&at, count, "must be greater than zero"));
        }
        "All" | "ExactCount" => {}
        _ => {
            let at = path.child("allocationMode");
            let error = FieldError::not_supported(&at, mode, &["All", "ExactCount"]);
            errors.push(error.declarative());
        }
    }
    taints::tolerations(request, path, errors);
}

fn constraint(constraint: &Value, requests: &[Value], path: &Path<'_>, errors: &mut Errors) {
    references(constraint, requests, path, errors);
    let mut has_one = false;
    for field in ["matchAttribute", "distinctAttribute"] {
        if !constraint.has(field) {
            continue;
        }
        let mut found = Errors::new();
        names::fully_qualified(constraint.text(field), &path.child(field), &mut found);
        // Handwritten validation looks at the first one alone.
        errors.extend(
            found
                .into_iter()
                .filter(|error| !has_one || error.is_declarative()),
        );
        has_one = true;
    }
    if !has_one {
        errors.push(FieldError::required(path, NO_ATTRIBUTE));
    }
}

/// The requests that a part of a claim is about.
pub(crate) fn references(holder: &Value, requests: &[Value], path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("requests");
    declared_set(
        holder.list("requests"),
        MOST,
        NAMES,
        &at,
        errors,
        |name, at, errors| {
            names::request_reference(as_text(name), requests, at, errors);
        },
    );
}
