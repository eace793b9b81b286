//! Jobs.

use std::borrow::Cow;

use jiff::Timestamp;
use kubewright_apimachinery::view::{Edit, View, empty};
use kubewright_storage::ReadBack;
use serde_json::Value;

use crate::batch::status;
use crate::batch::validation;
use crate::behavior::Behavior;
use crate::behavior::Propagation;
use crate::columns::Row;
use crate::columns::text::{condition, containers, count, duration, or_none, selector, time};
use crate::defaults::workloads::{job_spec, labels_of_template, read_back_labels};
use crate::fields;
use crate::generation;
use crate::pod_gates;
use crate::strategy::{Creation, Findings, Strategy};
use crate::warnings::{name, workload};
use kubewright_validation::metadata::Rules;

const KIND: [&str; 3] = ["batch", "v1", "Job"];
const METADATA: Rules = Rules::namespaced();

const FIELDS: [&str; 1] = ["status.successful"];

/// The strategy of jobs.
#[derive(Debug)]
pub(crate) struct Job;

impl Strategy for Job {
    fn default(&self, object: &mut Value) {
        default(object);
        object.part("status");
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
        object.put("status", empty());
        pod_gates::close_job(object, &["spec"]);
        select_own_pods(object);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            return new.take_from(old, "spec");
        }
        pod_gates::close_job(new, &["spec"]);
        new.take_from(old, "status");
        generation::count_spec(KIND, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        validation::job(object, errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        match subresource {
            "" => {
                METADATA.changed(new, old, errors);
                validation::job_update(new, old, errors);
            }
            "status" => {
                METADATA.changed(new, old, errors);
                status::update(new, old, errors);
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

    fn is_read_back(&self, _object: &Value) -> bool {
        true
    }

    fn read_back(&self, object: &mut Value) -> ReadBack {
        read_back_labels(object)
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn check_field(&self, field: &str) -> Result<(), String> {
        fields::check(&FIELDS, true, field)
    }

    fn field_value<'a>(&self, object: &'a Value, field: &str) -> Option<Cow<'a, str>> {
        if let Some(generic) = fields::generic(object, true, field) {
            return Some(generic);
        }
        if !FIELDS.contains(&field) {
            return None;
        }
        let succeeded = object.at("status").int("succeeded").unwrap_or(0);
        Some(succeeded.to_string().into())
    }

    /// For clients from before garbage collection, the first version leaves its pods alone.
    fn behavior(&self) -> Behavior {
        Behavior {
            propagation: Propagation::Orphan,
            ..Behavior::default()
        }
    }
}

/// Labels that tie the pods to this very job, and the selector that finds them.
fn select_own_pods(object: &mut Value) {
    let name = object.at("metadata").text("name").to_owned();
    let uid = object.at("metadata").text("uid").to_owned();
    let Some(spec) = object.part("spec") else {
        return;
    };
    if spec.flag("manualSelector") {
        return;
    }
    if let Some(labels) = spec
        .part("template")
        .and_then(|template| template.part("metadata"))
        .and_then(|metadata| metadata.part("labels"))
    {
        for (key, value) in [
            ("job-name", &name),
            ("batch.kubernetes.io/job-name", &name),
            ("controller-uid", &uid),
            ("batch.kubernetes.io/controller-uid", &uid),
        ] {
            labels.fill(key, value.as_str());
        }
    }
    if let Some(labels) = spec
        .part("selector")
        .and_then(|selector| selector.part("matchLabels"))
    {
        labels.fill("batch.kubernetes.io/controller-uid", uid);
    }
}

fn default(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    job_spec(spec);
    labels_of_template(object);
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let done = count(status, "succeeded");
    let completions = match (spec.int("completions"), count(spec, "parallelism")) {
        (Some(wanted), _) => format!("{done}/{wanted}"),
        (None, parallelism) if parallelism > 1 => format!("{done}/1 of {parallelism}"),
        (None, _) => format!("{done}/1"),
    };
    let took = match (
        time(status.at("startTime")),
        time(status.at("completionTime")),
    ) {
        (None, _) => String::new(),
        (Some(start), end) => duration(end.unwrap_or(row.now).duration_since(start).as_secs()),
    };
    let state = if condition(status, "Complete") {
        "Complete"
    } else if condition(status, "Failed") {
        "Failed"
    } else if row.is_going() {
        "Terminating"
    } else if condition(status, "Suspended") {
        "Suspended"
    } else if condition(status, "FailureTarget") {
        "FailureTarget"
    } else {
        "Running"
    };
    let (names, images) = containers(spec.at("template").at("spec"));
    vec![
        row.name(),
        state.into(),
        completions.into(),
        took.into(),
        row.age(),
        names,
        images,
        or_none(selector(spec.at("selector"))).into(),
    ]
}
