//! The status of a claim: what was allocated, for whom, and what drivers say of it.

use kubewright_apimachinery::equality::same_type;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::claims;
use kubewright_validation::check::{
    Errors, IMMUTABLE, declaratively_swapped, declared_driver_name, driver_name, label,
};
use kubewright_validation::conditions::conditions;
use kubewright_validation::devices::parts::device_identity as identity;
use kubewright_validation::devices::parts::{
    IDENTITY, MOST_PARAMETERS, NAMES, as_text, configuration, declared_at_most, declared_set,
    parameters, shown_identity,
};
use kubewright_validation::devices::{binding, names, taints};
use kubewright_validation::internal::shown;
use kubewright_validation::pod::node_selector;

const MOST_CONSUMERS: usize = 256;
const MOST_RESULTS: usize = 32;
const MOST_CONFIGURATIONS: usize = 64;
const MOST_CONDITIONS: usize = 8;
const MOST_ADDRESSES: usize = 16;
const LONGEST_INTERFACE: usize = 256;
const LONGEST_HARDWARE_ADDRESS: usize = 128;

/// Checks a changed status of a claim.
pub(crate) fn claim_status(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("status");
    let (status, before) = (new.at("status"), old.at("status"));
    declaratively_swapped(
        errors,
        |errors| {
            consumers(new, before, &path, errors);
        },
        |errors| {
            let (allocated, at) = (status.at("allocation"), path.child("allocation"));
            let is_set = status.has("allocation");
            if is_set && !before.has("allocation") {
                let requests = new.at("spec").at("devices").list("requests");
                allocation(allocated, requests, &at, errors);
            } else if is_set
                && !same_type(
                    "api.resource.v1.AllocationResult",
                    allocated,
                    before.at("allocation"),
                )
            {
                let detail = "field cannot be modified once set";
                let shown = shown("?AllocationResult", allocated);
                let handwritten = FieldError::invalid_shown(&at, &shown, IMMUTABLE);
                let error = FieldError::invalid(&at, Value::Null, detail);
                errors.push(error.declarative_for(handwritten));
            }
        },
    );
}

/// Whom the devices are for, and what drivers say of them.
fn consumers(new: &Value, before: &Value, path: &Path<'_>, errors: &mut Errors) {
    let status = new.at("status");
    let consumers = status.list("reservedFor");
    let at = path.child("reservedFor");
    declared_set(
        consumers,
        MOST_CONSUMERS,
        ("ResourceClaimConsumerReference", &["uid"]),
        &at,
        errors,
        |consumer, at, errors| {
            for field in ["resource", "name", "uid"] {
                if consumer.text(field).is_empty() {
                    errors.push(FieldError::required(&at.child(field), ""));
                }
            }
        },
    );
    devices(status, path, errors);
    if !consumers.is_empty() {
        let is_new = |consumer: &Value| !before.list("reservedFor").contains(consumer);
        if !status.has("allocation") {
            let detail = "may not be specified when `allocated` is not set";
            errors.push(FieldError::forbidden(&at, detail));
        } else if new.at("metadata").has("deletionTimestamp") && consumers.iter().any(is_new) {
            let detail = "new entries may not be added while `deallocationRequested` or \
                          `deletionTimestamp` are set";
            errors.push(FieldError::forbidden(&at, detail));
        }
    }
}

fn allocation(allocation: &Value, requests: &[Value], path: &Path<'_>, errors: &mut Errors) {
    let (devices, at) = (allocation.at("devices"), path.child("devices"));
    let results = at.child("results");
    declared_at_most(
        devices.list("results"),
        MOST_RESULTS,
        &results,
        errors,
        |result, at, errors| {
            let request = result.text("request");
            names::request_reference(request, requests, &at.child("request"), errors);
            let driver = result.text("driver");
            declared_driver_name(driver, &at.child("driver"), errors);
            names::declared_pool(result.text("pool"), &at.child("pool"), errors);
            label(&at.child("device"), result.text("device"), errors);
            declaratively_swapped(
                errors,
                |errors| binding(result, at, errors),
                |errors| taints::tolerations(result, at, errors),
            );
            share(result, at, errors);
        },
    );
    let config = at.child("config");
    declared_at_most(
        devices.list("config"),
        MOST_CONFIGURATIONS,
        &config,
        errors,
        |config, at, errors| {
            let (source, at_source) = (config.text("source"), at.child("source"));
            let sources = ["FromClaim", "FromClass"];
            if source.is_empty() {
                errors.push(FieldError::required(&at_source, "").declarative());
            } else if !sources.contains(&source) {
                let error = FieldError::not_supported(&at_source, source, &sources);
                errors.push(error.declarative());
            }
            claims::references(config, requests, at, errors);
            configuration(config, false, at, errors);
        },
    );
    if allocation.has("nodeSelector") {
        node_selector(
            allocation.at("nodeSelector"),
            &path.child("nodeSelector"),
            errors,
        );
    }
}

/// What drivers say of the devices that were allocated, and of no others.
fn devices(status: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("devices");
    let results = status.at("allocation").at("devices").list("results");
    let kind: (_, &[_]) = ("AllocatedDeviceStatus", &IDENTITY);
    let said = status.list("devices");
    declared_set(
        said,
        usize::MAX,
        kind,
        &path,
        errors,
        |device, at, errors| {
            driver_name(device.text("driver"), &at.child("driver"), errors);
            names::pool(device.text("pool"), &at.child("pool"), errors);
            label(&at.child("device"), device.text("device"), errors);
            share(device, at, errors);
            if !results
                .iter()
                .any(|result| identity(result) == identity(device))
            {
                let detail = "must be an allocated device in the claim";
                errors.push(FieldError::invalid_shown(
                    at,
                    &shown_identity(device),
                    detail,
                ));
            }
            let all = device.list("conditions").len();
            if all > MOST_CONDITIONS {
                errors.push(FieldError::too_many(
                    &at.child("conditions"),
                    all,
                    MOST_CONDITIONS,
                ));
            }
            conditions(device, at, errors);
            if device.has("data") {
                let limit = MOST_PARAMETERS;
                parameters(device.at("data"), limit, &at.child("data"), errors);
            }
            network(device.at("networkData"), &at.child("networkData"), errors);
        },
    );
}

fn share(holder: &Value, path: &Path<'_>, errors: &mut Errors) {
    let id = holder.text("shareID");
    let is_part = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    };
    if holder.has("shareID") && !(id.len() == 36 && id.bytes().enumerate().all(is_part)) {
        let (at, detail) = (
            path.child("shareID"),
            "must be a lowercase UUID in 8-4-4-4-12 format",
        );
        errors.push(FieldError::invalid(&at, id, detail).declarative());
    }
}

fn network(data: &Value, path: &Path<'_>, errors: &mut Errors) {
    let short = |field: &str, limit: usize, errors: &mut Errors| {
        if data.text(field).len() > limit {
            let error = FieldError::too_long(&path.child(field), limit);
            errors.push(error.declarative());
        }
    };
    short("interfaceName", LONGEST_INTERFACE, errors);
    let at = path.child("ips");
    declared_set(
        data.list("ips"),
        MOST_ADDRESSES,
        NAMES,
        &at,
        errors,
        |address, at, errors| {
            names::interface_address(as_text(address), at, errors);
        },
    );
    short("hardwareAddress", LONGEST_HARDWARE_ADDRESS, errors);
}
