//! Stateful sets.

use jiff::Timestamp;
use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use crate::apps::status;
use crate::apps::validation;
use crate::columns::Row;
use crate::columns::text::containers;
use crate::columns::workloads::ready;
use crate::defaults::{pod, volumes};
use crate::generation;
use crate::pod_gates;
use crate::strategy::{Creation, Findings, Strategy};
use crate::warnings::{stateful_set, workload};
use kubewright_validation::metadata::Rules;

const KIND: [&str; 3] = ["apps", "v1", "StatefulSet"];
const METADATA: Rules = Rules::namespaced().with_name(names::dns1123_label);

/// The strategy of stateful sets.
#[derive(Debug)]
pub(crate) struct StatefulSet;

impl Strategy for StatefulSet {
    fn default(&self, object: &mut Value) {
        default(object);
        fill_status(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
        object.put("status", empty());
        fill_status(object);
        pod_gates::close(object, &["spec", "template", "spec"]);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            new.take_from(old, "spec");
            return;
        }
        pod_gates::close(new, &["spec", "template", "spec"]);
        new.take_from(old, "status");
        generation::count_spec(KIND, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        validation::stateful_set(object, &Value::Null, errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        match subresource {
            "" => {
                METADATA.changed(new, old, errors);
                validation::stateful_set(new, old, errors);
                validation::stateful_update(new, old, errors);
            }
            "status" => {
                status::stateful_set(new, old, errors);
                METADATA.changed(new, old, errors);
            }
            _ => {}
        }
    }

    fn warnings(&self, new: &Value, old: &Value) -> Vec<String> {
        let mut out = Vec::new();
        workload(
            "spec.template",
            new,
            old,
            new.at("spec").at("template"),
            &mut out,
        );
        stateful_set(&Path::new("spec"), new.at("spec"), old.is_null(), &mut out);
        out
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }
}

fn fill_status(object: &mut Value) {
    if let Some(status) = object.part("status") {
        for counter in ["replicas", "availableReplicas"] {
            status.fill(counter, 0);
        }
    }
}

fn default(object: &mut Value) {
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
            rolling.fill("maxUnavailable", 1);
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

fn cells(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    let (names, images) = containers(spec.at("template").at("spec"));
    let ready = ready(row.status(), spec).into();
    vec![row.name(), ready, row.age(), names, images]
}
