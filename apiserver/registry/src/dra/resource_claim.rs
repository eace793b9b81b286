//! Claims for devices.

use jiff::Timestamp;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use super::conversion::has_same_shape;
use crate::behavior::Behavior;
use crate::columns::Row;
use crate::defaults::devices::claim;
use crate::dra::validation;
use crate::metadata;
use crate::pod_gates::part;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::devices::parts::device_identity;
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::namespaced();

/// The strategy of claims.
#[derive(Debug)]
pub(crate) struct ResourceClaim;

impl Strategy for ResourceClaim {
    fn default(&self, object: &mut Value) {
        claim(object);
        object.part("status");
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        object.put("status", empty());
        close_gates(object);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            metadata::reset(new, old);
            new.take_from(old, "spec");
            forget_devices(new, old);
            let devices = part(new, &["status", "allocation", "devices"]);
            for result in devices
                .into_iter()
                .flat_map(|devices| devices.each("results"))
            {
                result.drop_field("skipNodeOperations");
            }
        } else {
            new.take_from(old, "status");
            close_gates(new);
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        validation::check("ResourceClaim", object, &Value::Null, errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        match subresource {
            "" => {
                METADATA.create(new, errors);
                METADATA.changed(new, old, errors);
                validation::update("ResourceClaim", new, old, errors);
            }
            "status" => {
                METADATA.changed(new, old, errors);
                validation::claim_status(new, old, errors);
            }
            _ => {}
        }
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["metadata"], &["spec"]],
            _ => &[&["status"]],
        }
    }

    fn convert(&self, _object: &mut Value, from: (&str, &str), to: (&str, &str)) -> bool {
        has_same_shape(from, to)
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            returns_deleted: true,
            ..Behavior::default()
        }
    }
}

/// Takes the fields away that are behind closed gates, from a claim or from a template's part of that form.
pub(super) fn close_gates(object: &mut Value) {
    let devices = part(object, &["spec", "devices"]);
    for request in devices
        .into_iter()
        .flat_map(|devices| devices.each("requests"))
    {
        if let Some(exact) = request.existing("exactly") {
            exact.drop_field("derivedAttributes");
        }
        for alternative in request.each("firstAvailable") {
            alternative.drop_field("derivedAttributes");
        }
    }
}

/// What drivers said of devices goes with the devices.
fn forget_devices(new: &mut Value, old: &Value) {
    let results = |claim: &Value| {
        let allocation = claim.at("status").at("allocation");
        allocation.at("devices").list("results").to_vec()
    };
    let (had, has) = (results(old), results(new));
    let Some(status) = new.existing("status") else {
        return;
    };
    let mut said = status.list("devices").to_vec();
    said.retain(|device| {
        let is_it = |result: &Value| device_identity(result) == device_identity(device);
        has.iter().any(is_it) || !had.iter().any(is_it)
    });
    if said.is_empty() {
        status.drop_field("devices");
    } else {
        status.put("devices", said);
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let status = row.status();
    let mut states = Vec::new();
    if row.is_going() {
        states.push("deleted");
    }
    if status.has("allocation") {
        states.push("allocated");
        if !status.list("reservedFor").is_empty() {
            states.push("reserved");
        }
    } else if !row.is_going() {
        states.push("pending");
    }
    vec![row.name(), states.join(",").into(), row.age()]
}
