//! The status of workloads: no counter is negative, and a part of the replicas is no larger than the whole.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use kubewright_validation::check::{Errors, not_negative};

pub(super) fn deployment(new: &Value, old: &Value, errors: &mut Errors) {
    let status = new.at("status");
    let counters = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    none_is_negative(status, &counters, errors);
    let parts = ["updatedReplicas", "readyReplicas", "availableReplicas"];
    parts_of_replicas(status, &parts, "readyReplicas", errors);
    collisions(new, old, errors);
}

pub(super) fn stateful_set(new: &Value, old: &Value, errors: &mut Errors) {
    let status = new.at("status");
    let counters = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    none_is_negative(status, &counters, errors);
    let parts = [
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
    ];
    parts_of_replicas(status, &parts, "status.readyReplicas", errors);
    collisions(new, old, errors);
}

/// Checks the status of a replica set or a replication controller.
pub(crate) fn replicas(status: &Value, errors: &mut Errors) {
    let counters = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    none_is_negative(status, &counters, errors);
    let parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    parts_of_replicas(status, &parts, "readyReplicas", errors);
}

pub(super) fn daemon_set(new: &Value, old: &Value, errors: &mut Errors) {
    let counters = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ];
    none_is_negative(new.at("status"), &counters, errors);
    collisions(new, old, errors);
}

/// Checks the counters of a status, in this order.
fn none_is_negative(status: &Value, counters: &[&str], errors: &mut Errors) {
    let path = Path::new("status");
    for counter in counters {
        not_negative(status, &path, counter, errors);
    }
}

/// Checks that no part of the replicas is larger than all of them; `ready` is the name of the ready ones in the message.
fn parts_of_replicas(status: &Value, parts: &[&str], ready: &str, errors: &mut Errors) {
    let path = Path::new("status");
    let number = |field: &str| status.int(field).unwrap_or(0);
    for part in parts {
        if number(part) > number("replicas") {
            let detail = "cannot be greater than status.replicas";
            errors.push(FieldError::invalid(&path.child(part), number(part), detail));
        }
    }
    let available = number("availableReplicas");
    if available > number("readyReplicas") {
        let detail = format!("cannot be greater than {ready}");
        let at = path.child("availableReplicas");
        errors.push(FieldError::invalid(&at, available, &detail));
    }
}

/// Checks that the collision count does not go down.
fn collisions(new: &Value, old: &Value, errors: &mut Errors) {
    let field = "collisionCount";
    let [now, before] = [new, old].map(|object| object.at("status").int(field));
    if now < before {
        let at = Path::new("status");
        let detail = "cannot be decremented";
        errors.push(FieldError::invalid(
            &at.child(field),
            now.unwrap_or(0),
            detail,
        ));
    }
}
