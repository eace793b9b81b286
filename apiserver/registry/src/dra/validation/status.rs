//! The status of a claim: what was allocated, for whom, and what drivers say of it.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::{Value, json};

use super::parts::device_identity as identity;
use super::parts::{MOST_PARAMETERS, as_text, at_most, configuration, parameters, set};
use super::{claims, names};
use kubewright_validation::check::driver_name;
use kubewright_validation::check::{Errors, immutable_as, label};
use kubewright_validation::conditions::conditions;
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
    let requests = new.at("spec").at("devices").list("requests");
    let consumers = status.list("reservedFor");
    let uid = |consumer| View::text(consumer, "uid");
    let at = path.child("reservedFor");
    set(
        consumers,
        MOST_CONSUMERS,
        &at,
        errors,
        uid,
        |consumer, at, errors| {
            for field in ["resource", "name", "uid"] {
                if consumer.text(field).is_empty() {
                    errors.push(FieldError::required(&at.child(field), ""));
                }
            }
        },
    );
    devices(status, &path, errors);
    if !consumers.is_empty() {
        let is_new = |consumer: &&Value| !before.list("reservedFor").contains(consumer);
        if !status.has("allocation") {
            let detail = "may not be specified when `allocated` is not set";
            errors.push(FieldError::forbidden(&at, detail));
        } else if new.at("metadata").has("deletionTimestamp")
            && consumers.iter().any(|c| is_new(&c))
        {
            let detail = "new entries may not be added while `deallocationRequested` or \
                          `deletionTimestamp` are set";
            errors.push(FieldError::forbidden(&at, detail));
        }
    }
    if status.has("allocation") && before.has("allocation") {
        immutable_as(
            "AllocationResult",
            status,
            before,
            &path,
            "allocation",
            errors,
        );
    } else if status.has("allocation") {
        allocation(
            status.at("allocation"),
            requests,
            &path.child("allocation"),
            errors,
        );
    }
}

fn allocation(allocation: &Value, requests: &[Value], path: &Path<'_>, errors: &mut Errors) {
    let (devices, at) = (allocation.at("devices"), path.child("devices"));
    let results = at.child("results");
    at_most(
        devices.list("results"),
        MOST_RESULTS,
        &results,
        errors,
        |result, at, errors| {
            let request = result.text("request");
            names::request_reference(request, requests, &at.child("request"), errors);
            device(result, at, errors);
            super::slices::binding(result, at, errors);
        },
    );
    let config = at.child("config");
    at_most(
        devices.list("config"),
        MOST_CONFIGURATIONS,
        &config,
        errors,
        |config, at, errors| {
            let source = config.text("source");
            match source {
                "FromClaim" | "FromClass" => {}
                "" => errors.push(FieldError::required(&at.child("source"), "")),
                _ => errors.push(FieldError::not_supported(
                    &at.child("source"),
                    source,
                    &["FromClaim", "FromClass"],
                )),
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

fn device(holder: &Value, path: &Path<'_>, errors: &mut Errors) {
    driver_name(holder.text("driver"), &path.child("driver"), errors);
    names::pool(holder.text("pool"), &path.child("pool"), errors);
    label(&path.child("device"), holder.text("device"), errors);
    if holder.has("shareID") {
        share(holder.text("shareID"), &path.child("shareID"), errors);
    }
}

/// What drivers say of the devices that were allocated, and of no others.
fn devices(status: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("devices");
    let results = status.at("allocation").at("devices").list("results");
    let said = status.list("devices");
    for (index, device) in said.iter().enumerate() {
        let at = path.index(index);
        self::device(device, &at, errors);
        if !results
            .iter()
            .any(|result| identity(result) == identity(device))
        {
            let detail = "must be an allocated device in the claim";
            let shown = shown(device).to_string();
            errors.push(FieldError::invalid_shown(&at, &shown, detail));
        }
        let all = device.list("conditions").len();
        if all > MOST_CONDITIONS {
            errors.push(FieldError::too_many(
                &at.child("conditions"),
                all,
                MOST_CONDITIONS,
            ));
        }
        conditions(device, &at, errors);
        if device.has("data") {
            let limit = MOST_PARAMETERS;
            parameters(device.at("data"), limit, &at.child("data"), errors);
        }
        network(device.at("networkData"), &at.child("networkData"), errors);
    }
    for (index, device) in said.iter().enumerate() {
        if said[..index]
            .iter()
            .any(|other| identity(other) == identity(device))
        {
            let at = path.index(index);
            errors.push(FieldError::duplicate_shown(&at, &shown(device).to_string()));
        }
    }
}

fn shown(device: &Value) -> Shown<'_> {
    Shown(identity(device))
}

/// A device's identity as Go writes the struct, whose fields keep their order.
struct Shown<'a>([&'a str; 4]);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [driver, pool, device, share] = self.0.map(|text| json!(text));
        write!(
            f,
            "{{\"Driver\":{driver},\"Pool\":{pool},\"Device\":{device},\"ShareID\":{share}}}"
        )
    }
}

fn share(id: &str, path: &Path<'_>, errors: &mut Errors) {
    match uuid::Uuid::try_parse(id) {
        Err(_) => {
            let why = match id.len() {
                32 | 36 | 38 | 45 => "invalid UUID format".to_owned(),
                length => format!("invalid UUID length: {length}"),
            };
            let detail = format!("error validating uid: {why}");
            errors.push(FieldError::invalid(path, id, &detail));
        }
        Ok(uuid) if uuid.hyphenated().to_string() != id => {
            let detail = "uid must be in RFC 4122 normalized form, \
                          `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters";
            errors.push(FieldError::invalid(path, id, detail));
        }
        Ok(_) => {}
    }
}

fn network(data: &Value, path: &Path<'_>, errors: &mut Errors) {
    for (field, limit) in [
        ("interfaceName", LONGEST_INTERFACE),
        ("hardwareAddress", LONGEST_HARDWARE_ADDRESS),
    ] {
        if data.text(field).len() > limit {
            errors.push(FieldError::too_long(&path.child(field), limit));
        }
    }
    let at = path.child("ips");
    set(
        data.list("ips"),
        MOST_ADDRESSES,
        &at,
        errors,
        as_text,
        |address, at, errors| {
            names::interface_address(as_text(address), at, errors);
        },
    );
}
