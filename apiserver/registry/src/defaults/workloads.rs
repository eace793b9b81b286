//! Defaults of the workload kinds.

use kubewright_apimachinery::view::{Edit, View};
use kubewright_storage::ReadBack;
use serde_json::Value;

use super::pod;

pub(crate) fn replica_set(object: &mut Value) {
    if let Some(spec) = object.part("spec") {
        spec.fill("replicas", 1);
        pod::template(spec, "template");
    }
}

pub(crate) fn job_spec(spec: &mut Value) {
    // Both absent means one pod; completions alone absent means a work queue.
    if !spec.has("completions") && !spec.has("parallelism") {
        spec.put("completions", 1);
    }
    spec.fill("parallelism", 1);
    if !spec.has("backoffLimit") {
        // With a limit per index there is none for the whole job.
        let limit = if spec.has("backoffLimitPerIndex") {
            i32::MAX
        } else {
            6
        };
        spec.put("backoffLimit", limit);
    }
    spec.fill("manualSelector", false);
    spec.fill("completionMode", "NonIndexed");
    spec.fill("suspend", false);
    if !spec.has("podReplacementPolicy") {
        let policy = if spec.has("podFailurePolicy") {
            "Failed"
        } else {
            "TerminatingOrFailed"
        };
        spec.put("podReplacementPolicy", policy);
    }
    job_template(spec);
}

/// Defaults of what is below the specification of a job. In the template of a cron job they are the only ones: the others are of
/// the function of Job itself.
pub(crate) fn job_template(spec: &mut Value) {
    if let Some(policy) = spec.existing("podFailurePolicy") {
        for rule in policy.each("rules") {
            for pattern in rule.each("onPodConditions") {
                pattern.fill_text("status", "True");
            }
        }
    }
    pod::template(spec, "template");
}

/// What clients see of a stored workload without labels: those of its pods.
pub(crate) fn read_back_labels(object: &mut Value) -> ReadBack {
    if labels_of_template(object) {
        ReadBack::WithDefaults
    } else {
        ReadBack::AsStored
    }
}

/// Gives a workload without labels those of its pods. Returns whether it did.
pub(crate) fn labels_of_template(object: &mut Value) -> bool {
    let template = object.at("spec").at("template");
    let labels = template.at("metadata").at("labels").clone();
    let none = object
        .at("metadata")
        .map("labels")
        .is_none_or(serde_json::Map::is_empty);
    if none
        && labels.as_object().is_some_and(|labels| !labels.is_empty())
        && let Some(metadata) = object.part("metadata")
    {
        metadata.put("labels", labels);
        return true;
    }
    false
}
