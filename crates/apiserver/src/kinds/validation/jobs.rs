//! Jobs and cron jobs.

use serde_json::{Value, json};

use super::check::{Errors, immutable, not_negative, one_of, one_of_if_set, selector};
use super::cron;
use super::pod;
use super::workloads::matches_template;
use crate::field::{FieldError, Path};
use crate::kinds::strategy::same;
use crate::kinds::view::{Edit, View};

pub(super) fn job(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    generated_selector(object, errors);
    job_spec(spec, &path, errors);
    let at = path.child("selector");
    if spec.has("selector") {
        selector(spec.at("selector"), &at, errors);
        let template = path.child("template");
        matches_template(spec.at("selector"), spec, &template, errors);
    } else {
        errors.push(FieldError::required(&at, ""));
    }
}

pub(super) fn cron_job(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    let schedule = spec.text("schedule");
    let at = path.child("schedule");
    if schedule.is_empty() {
        errors.push(FieldError::required(&at, ""));
    } else if schedule.contains("TZ") {
        let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        errors.push(FieldError::invalid(&at, schedule, detail));
    } else if let Err(problem) = cron::check(schedule) {
        errors.push(FieldError::invalid(&at, schedule, &problem));
    }
    not_negative(spec, &path, "startingDeadlineSeconds", errors);
    if spec.has("timeZone") {
        time_zone(spec.text("timeZone"), &path.child("timeZone"), errors);
    }
    let policies = ["Allow", "Forbid", "Replace"];
    one_of(spec, &path, "concurrencyPolicy", &policies, errors);
    let template = path.child("jobTemplate");
    let job = spec.at("jobTemplate").at("spec");
    let at = template.child("spec");
    job_spec(job, &at, errors);
    if job.has("selector") {
        let detail = "`selector` will be auto-generated";
        let value = job.at("selector").clone();
        errors.push(FieldError::invalid(&at.child("selector"), value, detail));
    }
    if job.flag("manualSelector") {
        let at = at.child("manualSelector");
        errors.push(FieldError::not_supported(&at, true, &["nil", "false"]));
    }
    for field in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        not_negative(spec, &path, field, errors);
    }
}

pub(super) fn job_update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let (spec, before) = (new.at("spec"), old.at("spec"));
    // The size of an indexed job may change as long as it runs all at once.
    let elastic = spec.text("completionMode") == "Indexed"
        && spec.at("completions") == spec.at("parallelism")
        && !same(spec.at("completions"), before.at("completions"));
    if !elastic {
        immutable(spec, before, &path, "completions", errors);
    }
    immutable(spec, before, &path, "selector", errors);
    template(spec, old, &path, errors);
    for field in [
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        immutable(spec, before, &path, field, errors);
    }
}

/// Where a job that has not started yet shall run is still open.
fn template(spec: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) {
    let before = old.at("spec");
    let mut munged = spec.at("template").clone();
    let waiting = before.flag("suspend") && !old.at("status").has("startTime");
    if waiting {
        let was = before.at("template");
        if let Some(pod) = munged.part("spec") {
            for field in ["nodeSelector", "affinity", "tolerations", "schedulingGates"] {
                pod.take_from(was.at("spec"), field);
            }
        }
        if let Some(metadata) = munged.part("metadata") {
            for field in ["labels", "annotations"] {
                metadata.take_from(was.at("metadata"), field);
            }
        }
    }
    if !same(&munged, before.at("template")) {
        let value = spec.at("template").clone();
        errors.push(FieldError::invalid(
            &path.child("template"),
            value,
            super::check::IMMUTABLE,
        ));
    }
}

fn job_spec(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        not_negative(spec, path, field, errors);
    }
    let modes = ["Indexed", "NonIndexed"];
    one_of_if_set(spec, path, "completionMode", &modes, errors);
    if spec.text("completionMode") == "Indexed" {
        if !spec.has("completions") {
            let at = path.child("completions");
            let detail = "when completion mode is Indexed";
            errors.push(FieldError::required(&at, detail));
        }
        if let Some(number) = spec.int("parallelism").filter(|number| *number > 100_000) {
            let detail = "must be less than or equal to 100000 when completion mode is Indexed";
            let at = path.child("parallelism");
            errors.push(FieldError::invalid(&at, number, detail));
        }
    } else {
        for (field, condition) in [
            ("backoffLimitPerIndex", "requires indexed completion mode"),
            ("maxFailedIndexes", "requires indexed completion mode"),
            ("successPolicy", "requires indexed completion mode"),
        ] {
            if spec.has(field) {
                let value = spec.at(field).clone();
                errors.push(FieldError::invalid(&path.child(field), value, condition));
            }
        }
    }
    let replacement = ["Failed", "TerminatingOrFailed"];
    one_of_if_set(spec, path, "podReplacementPolicy", &replacement, errors);
    let at = path.child("template");
    pod::template(spec.at("template"), &at, errors);
    let policy = spec.at("template").at("spec").text("restartPolicy");
    let at = at.child("spec.restartPolicy");
    match policy {
        "OnFailure" | "Never" => {}
        // The default of pods makes no sense here, so this reads as if it were missing.
        "Always" | "" => {
            let detail = "valid values: \"OnFailure\", \"Never\"";
            errors.push(FieldError::required(&at, detail));
        }
        other => errors.push(FieldError::not_supported(
            &at,
            other,
            &["OnFailure", "Never"],
        )),
    }
}

fn generated_selector(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    if spec.flag("manualSelector") || !spec.has("selector") {
        return;
    }
    let (name, uid) = (
        object.at("metadata").text("name"),
        object.at("metadata").text("uid"),
    );
    if uid.is_empty() {
        errors.push(FieldError::required(&Path::new("metadata.uid"), ""));
    }
    let metadata = spec.at("template").at("metadata");
    let path = Path::new("spec.template.metadata.labels");
    for (key, value) in [
        ("controller-uid", uid),
        ("batch.kubernetes.io/controller-uid", uid),
        ("job-name", name),
        ("batch.kubernetes.io/job-name", name),
    ] {
        let labels = metadata.at("labels");
        let detail = format!("must be '{value}'");
        if !labels.has(key) {
            errors.push(FieldError::required(&path.key(key), &detail));
        } else if labels.text(key) != value {
            errors.push(FieldError::invalid(&path.key(key), labels.clone(), &detail));
        }
    }
    let expected = json!({ "template": { "metadata": { "labels": {
        "controller-uid": uid, "batch.kubernetes.io/controller-uid": uid,
        "job-name": name, "batch.kubernetes.io/job-name": name,
    } } } });
    let mut found = Vec::new();
    matches_template(spec.at("selector"), &expected, &path, &mut found);
    if !found.is_empty() {
        let at = Path::new("spec.selector");
        let detail = "`selector` not auto-generated";
        errors.push(FieldError::invalid(
            &at,
            spec.at("selector").clone(),
            detail,
        ));
    }
}

fn time_zone(zone: &str, path: &Path<'_>, errors: &mut Errors) {
    if zone.is_empty() {
        let detail = "timeZone must be nil or non-empty string";
        errors.push(FieldError::invalid(path, zone, detail));
    } else if zone.eq_ignore_ascii_case("local") {
        let detail =
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.push(FieldError::invalid(path, zone, detail));
    } else if !zone.eq_ignore_ascii_case("utc") && jiff::tz::TimeZone::get(zone).is_err() {
        let detail = format!("unknown time zone {zone}");
        errors.push(FieldError::invalid(path, zone, &detail));
    }
}
