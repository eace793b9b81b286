//! Deployments.

use jiff::Timestamp;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use crate::apps::status;
use crate::apps::validation;
use crate::columns::Row;
use crate::columns::text::{containers, count, selector};
use crate::columns::workloads::ready;
use crate::defaults::pod;
use crate::generation;
use crate::pod_gates;
use crate::strategy::{Creation, Findings, Strategy};
use crate::warnings::{name, workload};
use kubewright_validation::metadata::Rules;
use kubewright_validation::semantic::same;

const KIND: [&str; 3] = ["apps", "v1", "Deployment"];
const METADATA: Rules = Rules::namespaced();

/// The strategy of deployments.
#[derive(Debug)]
pub(crate) struct Deployment;

impl Strategy for Deployment {
    fn complete_for_audit(&self, object: &mut Value) {
        let strategy = object
            .existing("spec")
            .and_then(|spec| spec.existing("strategy"));
        if let Some(rolling) = strategy.and_then(|strategy| strategy.existing("rollingUpdate")) {
            rolling.fill("maxSurge", 0);
            rolling.fill("maxUnavailable", 0);
        }
    }

    fn default(&self, object: &mut Value) {
        default(object);
        object.part("status");
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
        object.put("status", empty());
        pod_gates::close(object, &["spec", "template", "spec"]);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            if let Some(metadata) = new.part("metadata") {
                metadata.take_from(old.at("metadata"), "labels");
            }
            new.take_from(old, "spec");
            return;
        }
        pod_gates::close(new, &["spec", "template", "spec"]);
        new.take_from(old, "status");
        let [annotations, before] =
            [&*new, old].map(|object| object.at("metadata").at("annotations"));
        if generation::is_changed(KIND, "spec", new, old) || !same(annotations, before) {
            generation::count(new, old);
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        validation::deployment(object, errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        match subresource {
            "" => {
                METADATA.changed(new, old, errors);
                validation::deployment(new, errors);
                validation::selector_update(new, old, errors);
            }
            "status" => {
                METADATA.changed(new, old, errors);
                status::deployment(new, old, errors);
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
            "status" => &[&["spec"], &["metadata", "labels"]],
            _ => &[&["status"]],
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }
}

fn default(object: &mut Value) {
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

fn cells(row: Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let (names, images) = containers(spec.at("template").at("spec"));
    vec![
        row.name(),
        ready(status, spec).into(),
        count(status, "updatedReplicas").into(),
        count(status, "availableReplicas").into(),
        row.age(),
        names,
        images,
        selector(spec.at("selector")).into(),
    ]
}
