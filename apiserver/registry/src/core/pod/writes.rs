//! Pods: their status at birth, quality of service, and the parts that their sub-resources own.

use kubewright_apimachinery::time::now;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Value, json};

use super::container_statuses;
use crate::metadata;
use crate::quality_of_service::{Counted, quality_of_service};

pub(super) fn create(pod: &mut Value, counted: Counted) {
    let mut status = json!({ "phase": "Pending", "qosClass": quality_of_service(pod, counted) });
    if !pod.at("spec").list("schedulingGates").is_empty() {
        status.put(
            "conditions",
            json!([{
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": null,
                "lastTransitionTime": now(),
            }]),
        );
    }
    pod.put("status", status);
    merge_label_keys(pod);
}

/// The pod's own labels become part of the selectors that name their keys.
fn merge_label_keys(pod: &mut Value) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    let labels = pod.at("metadata").at("labels").clone();
    let Some(spec) = pod.existing("spec") else {
        return;
    };
    for constraint in spec.each("topologySpreadConstraints") {
        merge(constraint, &labels);
    }
    let Some(affinity) = spec.existing("affinity") else {
        return;
    };
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(pods) = affinity.existing(kind) else {
            continue;
        };
        for term in pods.each(PREFERRED) {
            if let Some(term) = term.existing("podAffinityTerm") {
                merge(term, &labels);
            }
        }
        for term in pods.each(REQUIRED) {
            merge(term, &labels);
        }
    }
}

fn merge(term: &mut Value, labels: &Value) {
    let mut more = Vec::new();
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in term.list(field).iter().filter_map(Value::as_str) {
            if labels.has(key) {
                let values = [labels.at(key)];
                more.push(json!({ "key": key, "operator": operator, "values": values }));
            }
        }
    }
    if let Some(selector) = term.existing("labelSelector")
        && !more.is_empty()
    {
        let mut all = selector.list("matchExpressions").to_vec();
        all.extend(more);
        selector.put("matchExpressions", all);
    }
}

/// What `pods/status` may change: the status, and labels and annotations.
pub(super) fn status(new: &mut Value, old: &Value) {
    new.take_from(old, "spec");
    if let Some(metadata) = new.part("metadata") {
        metadata.take_from(old.at("metadata"), "ownerReferences");
    }
    let quality = old.at("status").at("qosClass");
    if let Some(status) = new.part("status") {
        // They are behind feature gates that are off.
        for field in ["nodeAllocatableResourceClaimStatuses", "volumeHealth"] {
            status.drop_field(field);
        }
        for list in container_statuses::LISTS {
            for container in status.each(list) {
                for mount in container.each("volumeMounts") {
                    mount.drop_field("volumeStatus");
                }
            }
        }
        // Clients that do not know these fields leave them out; an empty list says that there is nothing.
        for field in ["resourceClaimStatuses", "extendedResourceClaimStatus"] {
            if !status.has(field) {
                status.take_from(old.at("status"), field);
            }
        }
        if status.text("qosClass").is_empty() && !quality.is_null() {
            status.put("qosClass", quality.clone());
        }
    }
}

/// Keeps the resources of the pod as a whole for a client that does not know them.
pub(super) fn keep_resources(new: &mut Value, old: &Value) {
    if let Some(spec) = new.existing("spec")
        && !spec.has("resources")
    {
        spec.take_from(old.at("spec"), "resources");
    }
}

/// What `pods/ephemeralcontainers` may change: the ephemeral containers.
pub(super) fn ephemeral_containers(new: &mut Value, old: &Value) {
    let containers = new.at("spec").at("ephemeralContainers").clone();
    new.take_from(old, "spec");
    new.take_from(old, "status");
    metadata::reset(new, old);
    if let Some(spec) = new.part("spec") {
        match containers {
            Value::Null => spec.drop_field("ephemeralContainers"),
            containers => spec.put("ephemeralContainers", containers),
        }
    }
}
