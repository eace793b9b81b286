//! Cron jobs.

use jiff::Timestamp;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use crate::batch::validation;
use crate::columns::Row;
use crate::columns::text::{containers, or_none, selector};
use crate::defaults::workloads::job_template;
use crate::generation;
use crate::pod_gates;
use crate::strategy::{Creation, Findings, Strategy};
use crate::warnings::{name, workload};
use kubewright_validation::metadata::Rules;

const KIND: [&str; 3] = ["batch", "v1", "CronJob"];
const METADATA: Rules = Rules::namespaced();

/// The strategy of cron jobs.
#[derive(Debug)]
pub(crate) struct CronJob;

impl Strategy for CronJob {
    fn default(&self, object: &mut Value) {
        default(object);
        object.part("status");
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
        object.put("status", empty());
        pod_gates::close_job(object, &["spec", "jobTemplate", "spec"]);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            return new.take_from(old, "spec");
        }
        pod_gates::close_job(new, &["spec", "jobTemplate", "spec"]);
        new.take_from(old, "status");
        generation::count_spec(KIND, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        validation::cron_job(object, errors);
        validation::name_of_cron_job(object, errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        if subresource.is_empty() {
            METADATA.changed(new, old, &mut found.errors);
            validation::cron_job(new, &mut found.errors);
        }
    }

    fn warnings(&self, new: &Value, old: &Value) -> Vec<String> {
        let mut out = Vec::new();
        if old.is_null() {
            name(new, "used in Pod names and hostnames", &mut out);
        }
        let job = new.at("spec").at("jobTemplate").at("spec");
        let path = "spec.jobTemplate.spec.template";
        workload(path, new, old, job.at("template"), &mut out);
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

fn default(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    spec.fill_text("concurrencyPolicy", "Allow");
    spec.fill("suspend", false);
    spec.fill("successfulJobsHistoryLimit", 3);
    spec.fill("failedJobsHistoryLimit", 1);
    if let Some(template) = spec.part("jobTemplate") {
        template.part("metadata");
        if let Some(spec) = template.part("spec") {
            job_template(spec);
        }
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let suspended = match spec.at("suspend").as_bool() {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    };
    let last = if status.has("lastScheduleTime") {
        row.since(status.at("lastScheduleTime"))
    } else {
        "<none>".to_owned()
    };
    let job = spec.at("jobTemplate").at("spec");
    let (names, images) = containers(job.at("template").at("spec"));
    vec![
        row.name(),
        spec.text("schedule").into(),
        or_none(spec.text("timeZone")).into(),
        suspended.into(),
        status.list("active").len().into(),
        last.into(),
        row.age(),
        names,
        images,
        or_none(selector(job.at("selector"))).into(),
    ]
}
