//! Claims for devices, and the templates that pods' claims are made from.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names::label_value;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::parts::{as_text, at_most, configuration, set};
use super::{names, selector};
use kubewright_validation::check::{Errors, label, problems, subdomain};
use kubewright_validation::metadata;

const MOST: usize = 32;
const MOST_ALTERNATIVES: usize = 8;
const WHICH: &str = "exactly one of `exactly` or `firstAvailable` is required";

pub(crate) fn template(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    metadata::template(spec.at("metadata"), &path.child("metadata"), errors);
    self::spec(spec.at("spec"), &path.child("spec"), errors);
}

pub(crate) fn spec(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("devices");
    let devices = spec.at("devices");
    let requests = devices.list("requests");
    let name = |request| View::text(request, "name");
    set(
        requests,
        MOST,
        &path.child("requests"),
        errors,
        name,
        request,
    );
    let at = path.child("constraints");
    at_most(
        devices.list("constraints"),
        MOST,
        &at,
        errors,
        |constraint, at, errors| {
            self::constraint(constraint, requests, at, errors);
        },
    );
    let at = path.child("config");
    at_most(
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
        }
        (true, true) => devices(request.at("exactly"), &path.child("exactly"), errors),
        (false, false) => {
            let at = path.child("firstAvailable");
            let name = |alternative| View::text(alternative, "name");
            set(
                alternatives,
                MOST_ALTERNATIVES,
                &at,
                errors,
                name,
                |alternative, at, errors| {
                    label(&at.child("name"), alternative.text("name"), errors);
                    devices(alternative, at, errors);
                },
            );
        }
    }
}

/// Which devices and how many.
fn devices(request: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("deviceClassName");
    match request.text("deviceClassName") {
        "" => errors.push(FieldError::required(&at, "")),
        class => subdomain(&at, class, errors),
    }
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
            errors.push(FieldError::not_supported(&at, mode, &["All", "ExactCount"]));
        }
    }
    let at = path.child("tolerations");
    for (index, toleration) in request.list("tolerations").iter().enumerate() {
        self::toleration(toleration, &at.index(index), errors);
    }
}

fn toleration(toleration: &Value, path: &Path<'_>, errors: &mut Errors) {
    let key = toleration.text("key");
    if !key.is_empty() {
        names::label_name(key, &path.child("key"), errors);
    }
    let (value, at) = (toleration.text("value"), path.child("value"));
    match toleration.text("operator") {
        "Exists" if !value.is_empty() => {
            let detail = "must be empty for operator `Exists`";
            errors.push(FieldError::invalid(&at, value, detail));
        }
        "Exists" => {}
        "Equal" => problems(&at, value, label_value(value), errors),
        "" => errors.push(FieldError::required(&path.child("operator"), "")),
        other => errors.push(FieldError::not_supported(
            &path.child("operator"),
            other,
            &["Equal", "Exists"],
        )),
    }
    if !toleration.text("effect").is_empty() {
        super::slices::effect(toleration, path, errors);
    }
}

fn constraint(constraint: &Value, requests: &[Value], path: &Path<'_>, errors: &mut Errors) {
    references(constraint, requests, path, errors);
    for field in ["matchAttribute", "distinctAttribute"] {
        if constraint.has(field) {
            names::fully_qualified(constraint.text(field), &path.child(field), errors);
            return;
        }
    }
    let detail = "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but \
                  multiple fields are set";
    errors.push(FieldError::required(path, detail));
}

/// The requests that a part of a claim is about.
pub(crate) fn references(holder: &Value, requests: &[Value], path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("requests");
    set(
        holder.list("requests"),
        MOST,
        &at,
        errors,
        as_text,
        |name, at, errors| {
            names::request_reference(as_text(name), requests, at, errors);
        },
    );
}
