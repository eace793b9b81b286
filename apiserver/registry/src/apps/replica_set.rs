//! Replica sets.

use jiff::Timestamp;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use crate::apps::status;
use crate::apps::validation;
use crate::columns::Row;
use crate::columns::workloads::replica_set as replica_set_cells;
use crate::defaults::workloads::replica_set;
use crate::generation;
use crate::pod_gates;
use crate::strategy::{Creation, Findings, Strategy};
use crate::warnings::{name, workload};
use kubewright_validation::metadata::Rules;

const KIND: [&str; 3] = ["apps", "v1", "ReplicaSet"];
const METADATA: Rules = Rules::namespaced();

/// The strategy of replica sets.
#[derive(Debug)]
pub(crate) struct ReplicaSet;

impl Strategy for ReplicaSet {
    fn default(&self, object: &mut Value) {
        replica_set(object);
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
        validation::replica_set(object, errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        match subresource {
            "" => {
                METADATA.changed(new, old, errors);
                validation::replica_set(new, errors);
                validation::selector_update(new, old, errors);
            }
            "status" => {
                METADATA.changed(new, old, errors);
                status::replicas(new.at("status"), errors);
            }
            _ => {}
        }
    }

    fn warnings(&self, new: &Value, old: &Value) -> Vec<String> {
        let mut out = Vec::new();
        if old.is_null() {
            name(new, "used in Pod names and hostnames", &mut out);
        }
        workload(
            "spec.template",
            new,
            old,
            new.at("spec").at("template"),
            &mut out,
        );
        out
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        replica_set_cells(Row { object, now })
    }
}

fn fill_status(object: &mut Value) {
    if let Some(status) = object.part("status") {
        status.fill("replicas", 0);
    }
}
