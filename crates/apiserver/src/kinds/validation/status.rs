//! What a status can say wrong: counters below zero, parts that are larger than the whole, addresses that are none.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::check::{Errors, not_negative, qualified_name, required};
use super::{devices, flowcontrol, job_status, networking, quotas};

pub(super) fn check(group: &str, kind: &str, new: &Value, old: &Value, errors: &mut Errors) {
    let status = new.at("status");
    let path = Path::new("status");
    for counter in counters(group, kind) {
        not_negative(status, &path, counter, errors);
    }
    parts(kind, status, &path, errors);
    match (group, kind) {
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet") => {
            let field = "collisionCount";
            let (now, before) = (status.int(field), old.at("status").int(field));
            if now < before {
                let at = path.child(field);
                let now = now.unwrap_or(0);
                errors.push(FieldError::invalid(&at, now, "cannot be decremented"));
            }
        }
        ("batch", "Job") => job_status::update(new, old, errors),
        ("", "Namespace") => namespace(new, errors),
        ("", "Node") => {
            super::config::node_update(new, old, errors);
        }
        ("", "ResourceQuota") => quotas::quota_status(status, &path, errors),
        ("", "PersistentVolumeClaim") => claim(status, &path, errors),
        ("networking.k8s.io", "Ingress") => networking::balancer(status, &path, errors),
        ("policy", _) => conditions(status, &path, errors),
        ("resource.k8s.io", "ResourceClaim") => devices::claim_status(new, old, errors),
        ("flowcontrol.apiserver.k8s.io", _) => flowcontrol::conditions(new, errors),
        _ => {}
    }
    if group == "policy" {
        for counter in [
            "disruptionsAllowed",
            "currentHealthy",
            "desiredHealthy",
            "expectedPods",
        ] {
            not_negative(status, &path, counter, errors);
        }
    }
}

/// The numbers of a kind that cannot be negative, in the order in which they are looked at.
fn counters(group: &str, kind: &str) -> &'static [&'static str] {
    match (group, kind) {
        ("apps", "Deployment") => &[
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
            "collisionCount",
        ],
        ("apps", "StatefulSet") => &[
            "replicas",
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
            "observedGeneration",
            "collisionCount",
        ],
        ("apps", "ReplicaSet") | ("", "ReplicationController") => &[
            "replicas",
            "fullyLabeledReplicas",
            "readyReplicas",
            "availableReplicas",
            "observedGeneration",
            "terminatingReplicas",
        ],
        ("apps", "DaemonSet") => &[
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ],
        ("batch", "Job") => &["active", "succeeded", "failed", "ready", "terminating"],
        ("autoscaling", _) => &["currentReplicas", "desiredReplicas"],
        _ => &[],
    }
}

/// Replicas of which something is said are no more than all of them.
fn parts(kind: &str, status: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (parts, ready): (&[&str], &str) = match kind {
        "Deployment" => (
            &["updatedReplicas", "readyReplicas", "availableReplicas"],
            "readyReplicas",
        ),
        "ReplicaSet" | "ReplicationController" => (
            &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
            "readyReplicas",
        ),
        "StatefulSet" => (
            &[
                "readyReplicas",
                "currentReplicas",
                "updatedReplicas",
                "availableReplicas",
            ],
            "status.readyReplicas",
        ),
        _ => return,
    };
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

fn namespace(new: &Value, errors: &mut Errors) {
    let phase = new.at("status").text("phase");
    let going = new.at("metadata").has("deletionTimestamp");
    let (wanted, when) = if going {
        ("Terminating", "not empty")
    } else {
        ("Active", "empty")
    };
    if phase != wanted {
        let detail = format!("may only be '{wanted}' if `deletionTimestamp` is {when}");
        let at = Path::new("status.Phase");
        errors.push(FieldError::invalid(&at, phase, &detail));
    }
}

fn claim(status: &Value, path: &Path<'_>, errors: &mut Errors) {
    let capacity = path.child("capacity");
    for (name, amount) in status.entries("capacity") {
        super::check::valid_quantity(amount, &capacity.key(name), errors);
    }
    let states = path.child("allocatedResourceStatuses");
    for (name, state) in status.entries("allocatedResourceStatuses") {
        storage_name(name, &states, errors);
        if !state
            .as_str()
            .is_some_and(|state| RESIZING.contains(&state))
        {
            // The real server names the resource, not the state.
            errors.push(FieldError::not_supported(&states, name, &RESIZING));
        }
    }
    let allocated = path.child("allocatedResources");
    for (name, amount) in status.entries("allocatedResources") {
        let before = errors.len();
        storage_name(name, &allocated, errors);
        let at = allocated.key(name);
        if errors.len() == before && !super::check::valid_quantity(amount, &at, errors) {
            super::check::quantity("storage", amount, &at, errors);
        }
    }
}

/// How far the resizing of a volume has come.
const RESIZING: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

/// A resource that a claim can be given: storage, of those that Kubernetes knows.
fn storage_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let before = errors.len();
    qualified_name(path, name, errors);
    if errors.len() == before && super::check::is_native(name) && name != "storage" {
        errors.push(FieldError::not_supported(path, name, &["storage"]));
    }
}

/// Conditions in the common form, with a reason each.
pub(super) fn conditions(status: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("conditions");
    let all = status.list("conditions");
    for (index, condition) in all.iter().enumerate() {
        let at = path.index(index);
        let kind = condition.text("type");
        qualified_name(&at.child("type"), kind, errors);
        if all[..index].iter().any(|other| other.text("type") == kind) {
            errors.push(FieldError::duplicate(&at.child("type"), kind));
        }
        let words = ["False", "True", "Unknown"];
        let status = condition.text("status");
        if !words.contains(&status) {
            errors.push(FieldError::not_supported(
                &at.child("status"),
                status,
                &words,
            ));
        }
        not_negative(condition, &at, "observedGeneration", errors);
        if !condition.has("lastTransitionTime") {
            errors.push(FieldError::required(&at.child("lastTransitionTime"), ""));
        }
        required(condition, &at, "reason", errors);
    }
}
