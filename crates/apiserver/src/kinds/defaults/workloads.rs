//! Defaults of the workload kinds.

use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::{pod, volumes};

pub(super) fn deployment(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    spec.fill("replicas", 1);
    if let Some(strategy) = spec.part("strategy") {
        strategy.fill_text("type", "RollingUpdate");
        if strategy.text("type") == "RollingUpdate"
            && let Some(rolling) = strategy.part("rollingUpdate")
        {
            rolling.fill("maxUnavailable", "25%");
            rolling.fill("maxSurge", "25%");
        }
    }
    spec.fill("revisionHistoryLimit", 10);
    spec.fill("progressDeadlineSeconds", 600);
    pod::template(spec, "template");
}

pub(super) fn replica_set(object: &mut Value) {
    if let Some(spec) = object.part("spec") {
        spec.fill("replicas", 1);
        pod::template(spec, "template");
    }
}

pub(super) fn replication_controller(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    let labels = spec.at("template").at("metadata").at("labels").clone();
    if !labels.is_null() && spec.map("selector").is_none_or(serde_json::Map::is_empty) {
        spec.put("selector", labels.clone());
    }
    spec.fill("replicas", 1);
    if spec.has("template") {
        pod::template(spec, "template");
    }
    labels_of_template(object, labels);
}

pub(super) fn stateful_set(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    spec.fill_text("podManagementPolicy", "OrderedReady");
    if let Some(strategy) = spec.part("updateStrategy") {
        if strategy.text("type").is_empty() {
            strategy.put("type", "RollingUpdate");
            strategy.part("rollingUpdate");
        }
        if strategy.text("type") == "RollingUpdate"
            && let Some(rolling) = strategy.existing("rollingUpdate")
        {
            rolling.fill("partition", 0);
        }
    }
    if let Some(retention) = spec.part("persistentVolumeClaimRetentionPolicy") {
        retention.fill_text("whenDeleted", "Retain");
        retention.fill_text("whenScaled", "Retain");
    }
    spec.fill("replicas", 1);
    spec.fill("revisionHistoryLimit", 10);
    pod::template(spec, "template");
    for claim in spec.each("volumeClaimTemplates") {
        // Go decodes a claim template into a whole claim and writes its kind back, whatever it said.
        claim.put("apiVersion", "v1");
        claim.put("kind", "PersistentVolumeClaim");
        claim.part("metadata");
        volumes::claim(claim);
        if let Some(status) = claim.part("status") {
            status.fill_text("phase", "Pending");
        }
    }
}

pub(super) fn daemon_set(object: &mut Value) {
    // A field of the server's own type, which its API has as an annotation.
    if let Some(annotations) = object
        .part("metadata")
        .and_then(|metadata| metadata.part("annotations"))
    {
        annotations.fill("deprecated.daemonset.template.generation", "0");
    }
    let Some(spec) = object.part("spec") else {
        return;
    };
    if let Some(strategy) = spec.part("updateStrategy") {
        strategy.fill_text("type", "RollingUpdate");
        if strategy.text("type") == "RollingUpdate"
            && let Some(rolling) = strategy.part("rollingUpdate")
        {
            rolling.fill("maxUnavailable", 1);
            rolling.fill("maxSurge", 0);
        }
    }
    spec.fill("revisionHistoryLimit", 10);
    pod::template(spec, "template");
}

pub(super) fn job(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    let labels = spec.at("template").at("metadata").at("labels").clone();
    job_spec(spec);
    labels_of_template(object, labels);
}

pub(super) fn cron_job(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    spec.fill_text("concurrencyPolicy", "Allow");
    spec.fill("suspend", false);
    spec.fill("successfulJobsHistoryLimit", 3);
    spec.fill("failedJobsHistoryLimit", 1);
    if let Some(template) = spec.part("jobTemplate") {
        template.part("metadata");
        // Only Job itself has a defaulting function; its template gets the pod's defaults alone.
        if let Some(spec) = template.part("spec") {
            pod::template(spec, "template");
        }
    }
}

fn job_spec(spec: &mut Value) {
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
    if let Some(policy) = spec.existing("podFailurePolicy") {
        for rule in policy.each("rules") {
            for pattern in rule.each("onPodConditions") {
                pattern.fill_text("status", "True");
            }
        }
    }
    if !spec.has("podReplacementPolicy") {
        let policy = if spec.has("podFailurePolicy") {
            "Failed"
        } else {
            "TerminatingOrFailed"
        };
        spec.put("podReplacementPolicy", policy);
    }
    pod::template(spec, "template");
}

fn labels_of_template(object: &mut Value, labels: Value) {
    let none = object
        .at("metadata")
        .map("labels")
        .is_none_or(serde_json::Map::is_empty);
    if none
        && labels.as_object().is_some_and(|labels| !labels.is_empty())
        && let Some(metadata) = object.part("metadata")
    {
        metadata.put("labels", labels);
    }
}
