//! Daemon sets.

use std::num::IntErrorKind;

use jiff::Timestamp;
use kubewright_apimachinery::equality;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use crate::apps::status;
use crate::apps::validation;
use crate::columns::Row;
use crate::columns::text::{containers, count, labels, or_none, selector};
use crate::defaults::pod;
use crate::generation;
use crate::pod_gates;
use crate::strategy::{Creation, Findings, Strategy};
use crate::warnings::workload;
use kubewright_validation::metadata::Rules;

const KIND: [&str; 3] = ["apps", "v1", "DaemonSet"];
const METADATA: Rules = Rules::namespaced();

const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The strategy of daemon sets.
#[derive(Debug)]
pub(crate) struct DaemonSet;

impl Strategy for DaemonSet {
    fn conversion_fault(&self, object: &Value) -> Option<String> {
        let annotations = object.at("metadata").at("annotations");
        let number = annotations.at(TEMPLATE_GENERATION).as_str()?;
        let why = match number.parse::<i64>().err()?.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        Some(format!(
            "strconv.ParseInt: parsing {}: {why}",
            quoted(number)
        ))
    }

    fn complete_for_audit(&self, object: &mut Value) {
        let metadata = object.part("metadata");
        if let Some(annotations) = metadata.and_then(|metadata| metadata.part("annotations")) {
            annotations.fill(TEMPLATE_GENERATION, "0");
        }
    }

    fn default(&self, object: &mut Value) {
        default(object);
        fill_status(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
        object.put("status", empty());
        fill_status(object);
        pod_gates::close(object, &["spec", "template", "spec"]);
        template_generation(object, None);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            new.take_from(old, "spec");
            template_generation(new, Some(old));
            return;
        }
        pod_gates::close(new, &["spec", "template", "spec"]);
        new.take_from(old, "status");
        template_generation(new, Some(old));
        generation::count_spec(KIND, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        validation::daemon_set(object, errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        match subresource {
            "" => {
                METADATA.changed(new, old, errors);
                validation::selector_update(new, old, errors);
                validation::daemon_set(new, errors);
            }
            "status" => {
                METADATA.changed(new, old, errors);
                status::daemon_set(new, old, errors);
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
        for counter in COUNTERS {
            status.fill(counter, 0);
        }
    }
}

/// The numbers of a status that Go always writes.
const COUNTERS: [&str; 4] = [
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
];

/// The number of the template, which version 1 keeps in an annotation.
fn template_generation(new: &mut Value, old: Option<&Value>) {
    let number = |object: &Value| -> i64 {
        let annotations = object.at("metadata").at("annotations");
        annotations.text(TEMPLATE_GENERATION).parse().unwrap_or(0)
    };
    let next = match old {
        None => number(new).max(1),
        Some(old) => {
            let [new, was] = [&*new, old].map(|object| object.at("spec").at("template"));
            let changed = !equality::same_type("api.core.v1.PodTemplateSpec", new, was);
            number(old) + i64::from(changed)
        }
    };
    if let Some(annotations) = new
        .part("metadata")
        .and_then(|metadata| metadata.part("annotations"))
    {
        annotations.put(TEMPLATE_GENERATION, next.to_string());
    }
}

fn default(object: &mut Value) {
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

fn cells(row: Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let pod = spec.at("template").at("spec");
    let (names, images) = containers(pod);
    vec![
        row.name(),
        count(status, "desiredNumberScheduled").into(),
        count(status, "currentNumberScheduled").into(),
        count(status, "numberReady").into(),
        count(status, "updatedNumberScheduled").into(),
        count(status, "numberAvailable").into(),
        labels(pod.at("nodeSelector")).into(),
        row.age(),
        names,
        images,
        or_none(selector(spec.at("selector"))).into(),
    ]
}
