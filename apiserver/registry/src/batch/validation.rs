//! Jobs and cron jobs.

use kubewright_apimachinery::equality::same_type;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Value, json};

use crate::apps::validation::{MISMATCH, matches_template};
use crate::batch::policies;
use crate::batch::schedule;
use kubewright_validation::check::{
    Errors, IMMUTABLE, declared_required, immutable, immutable_as, not_negative, one_of,
    one_of_if_set, selector,
};
use kubewright_validation::internal::shown;
use kubewright_validation::pod;
use kubewright_validation::semantic::same;

pub(crate) fn job(object: &Value, errors: &mut Errors) {
    generated_selector(object, errors);
    whole_spec(object.at("spec"), errors);
    hostname(object, errors);
}

fn whole_spec(spec: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    job_spec(spec, &path, errors);
    let at = path.child("selector");
    if spec.has("selector") {
        selector(spec.at("selector"), &at, errors);
        let template = path.child("template");
        matches_template(spec.at("selector"), spec, &template, errors);
    } else {
        errors.push(FieldError::required(&at, ""));
        let labels = spec.at("template").at("metadata").at("labels").clone();
        let at = path.child("template.metadata.labels");
        errors.push(FieldError::invalid(&at, labels, MISMATCH));
    }
}

/// Indexed pods have names of their own, which are host names as well.
fn hostname(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let completions = spec.int("completions").unwrap_or(0);
    if spec.text("completionMode") != "Indexed" || completions <= 0 {
        return;
    }
    let name = object.at("metadata").text("name");
    let longest = format!("{name}-{}", completions - 1);
    if !names::dns1123_label(&longest).is_empty() {
        let detail = format!("will not able to create pod with invalid DNS label: {longest}");
        errors.push(FieldError::invalid(
            &Path::new("metadata.name"),
            name,
            &detail,
        ));
    }
}

pub(crate) fn cron_job(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    let schedule = spec.text("schedule");
    let at = path.child("schedule");
    declared_required(spec, &path, "schedule", errors);
    if !schedule.is_empty()
        && let Err(problem) = schedule::check(schedule)
    {
        errors.push(FieldError::invalid(&at, schedule, &problem));
    }
    if schedule.contains("TZ") {
        let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        errors.push(FieldError::invalid(&at, schedule, detail));
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
        let value = shown("?m.LabelSelector", job.at("selector"));
        let at = at.child("selector");
        errors.push(FieldError::invalid_shown(&at, &value, detail));
    }
    if job.flag("manualSelector") {
        let at = at.child("manualSelector");
        errors.push(FieldError::not_supported(&at, true, &["nil", "false"]));
    }
    for field in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        not_negative(spec, &path, field, errors);
    }
}

/// The controller appends 11 characters for the names of jobs, which are labels.
pub(crate) fn name_of_cron_job(object: &Value, errors: &mut Errors) {
    let name = object.at("metadata").text("name");
    if name.len() > 52 {
        let at = Path::new("metadata.name");
        let detail = "must be no more than 52 characters";
        errors.push(FieldError::invalid(&at, name, detail));
    }
}

pub(crate) fn job_update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let (spec, before) = (new.at("spec"), old.at("spec"));
    whole_spec(spec, errors);
    // The size of an indexed job may change as long as it runs all at once.
    if spec.text("completionMode") != "Indexed" {
        immutable(spec, before, &path, "completions", errors);
    } else if spec.has("completions")
        && !same(spec.at("completions"), before.at("completions"))
        && spec.at("completions") != spec.at("parallelism")
    {
        let value = spec.at("completions").clone();
        let detail = "can only be modified in tandem with spec.parallelism";
        errors.push(FieldError::invalid(
            &path.child("completions"),
            value,
            detail,
        ));
    }
    let kind = "?m.LabelSelector";
    immutable_as(kind, spec, before, &path, "selector", errors);
    template(spec, old, &path, errors);
    for (field, kind) in [
        ("completionMode", ""),
        ("podFailurePolicy", "?batch.PodFailurePolicy"),
        ("backoffLimitPerIndex", ""),
        ("managedBy", ""),
        ("successPolicy", "?batch.SuccessPolicy"),
    ] {
        immutable_as(kind, spec, before, &path, field, errors);
    }
    hostname(new, errors);
}

/// While a job is suspended and none of its pods run, where they shall run and how much they get is still open.
fn template(spec: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) {
    let before = old.at("spec");
    let (now, mut was) = (spec.at("template"), before.at("template").clone());
    let status = old.at("status");
    let mut conditions = status.list("conditions").iter();
    let is_stopped =
        conditions.any(|c| c.text("type") == "Suspended" && c.text("status") == "True");
    let open = before.flag("suspend")
        && (!status.has("startTime") || is_stopped)
        && status.int("active").unwrap_or(0) == 0;
    if open {
        directives_taken(&mut was, now);
        resources_taken(&mut was, now);
    }
    let at = path.child("template");
    // Of a job that is open, only the pods are looked at.
    if open && !same_type("api.core.v1.PodSpec", now.at("spec"), was.at("spec")) {
        let value = shown("PodSpec", now.at("spec"));
        let at = at.child("spec");
        errors.push(FieldError::invalid_shown(&at, &value, IMMUTABLE));
    } else if !open && !same_type("api.core.v1.PodTemplateSpec", now, &was) {
        let value = shown("PodTemplateSpec", now);
        errors.push(FieldError::invalid_shown(&at, &value, IMMUTABLE));
    }
}

/// The same in a version in which a job's pods are open until it starts, and how much they get is not: the error about the
/// template is put in the place of the newest version's.
pub(crate) fn template_until_started(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("spec.template");
    let is_of_template = |error: &FieldError| {
        matches!(error.field(), "spec.template" | "spec.template.spec")
            && error.body().ends_with(IMMUTABLE)
    };
    let at = errors
        .iter()
        .position(is_of_template)
        .unwrap_or(errors.len());
    errors.retain(|error| !is_of_template(error));
    let before = old.at("spec");
    let (now, mut was) = (new.at("spec").at("template"), before.at("template").clone());
    if before.flag("suspend") && !old.at("status").has("startTime") {
        directives_taken(&mut was, now);
    }
    if !same_type("api.core.v1.PodTemplateSpec", now, &was) {
        let value = shown("PodTemplateSpec", now);
        errors.insert(at, FieldError::invalid_shown(&path, &value, IMMUTABLE));
    }
}

/// Takes over where pods shall run.
fn directives_taken(template: &mut Value, now: &Value) {
    if let Some(pod) = template.part("spec") {
        open_affinity(pod, now.at("spec").at("affinity"));
        for field in ["nodeSelector", "tolerations", "schedulingGates"] {
            pod.take_from(now.at("spec"), field);
        }
    }
    if let Some(metadata) = template.part("metadata") {
        for field in ["labels", "annotations"] {
            metadata.take_from(now.at("metadata"), field);
        }
    }
}

/// Takes the affinity to nodes over from `now`; that to pods stays.
fn open_affinity(pod: &mut Value, now: &Value) {
    let field = "nodeAffinity";
    if now.is_null() {
        if let Some(was) = pod.existing("affinity") {
            was.drop_field(field);
            if was
                .as_object()
                .is_none_or(|rest| rest.values().all(Value::is_null))
            {
                pod.drop_field("affinity");
            }
        }
    } else if let Some(was) = pod.part("affinity") {
        was.take_from(now, field);
    }
}

/// Takes over how much each container gets, where there are as many of the same names.
fn resources_taken(template: &mut Value, now: &Value) {
    for list in ["containers", "initContainers"] {
        let new = now.at("spec").list(list);
        if let Some(pod) = template.existing("spec")
            && pod.list(list).len() == new.len()
        {
            for (container, new) in pod.each(list).zip(new) {
                if container.text("name") == new.text("name") {
                    container.take_from(new, "resources");
                }
            }
        }
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
    if spec.has("maxFailedIndexes") && !spec.has("backoffLimitPerIndex") {
        let at = path.child("backoffLimitPerIndex");
        let detail = "when maxFailedIndexes is specified";
        errors.push(FieldError::required(&at, detail));
    }
    if spec.has("managedBy") {
        manager(spec.text("managedBy"), &path.child("managedBy"), errors);
    }
    let modes = ["NonIndexed", "Indexed"];
    one_of_if_set(spec, path, "completionMode", &modes, errors);
    let mode = spec.at("completionMode").as_str();
    match mode {
        Some("Indexed") => policies::indexed(spec, path, errors),
        // The template of a CronJob has no default.
        None | Some("NonIndexed") => {
            for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
                if spec.has(field) {
                    let value = spec.at(field).clone();
                    let detail = "requires indexed completion mode";
                    errors.push(FieldError::invalid(&path.child(field), value, detail));
                }
            }
        }
        _ => {}
    }
    policies::failure(spec, path, errors);
    policies::success(spec, path, errors);
    // Pods that fail by a policy are only replaced once they have.
    let replacement: &[&str] = if spec.has("podFailurePolicy") {
        &["Failed"]
    } else {
        &["Failed", "TerminatingOrFailed"]
    };
    one_of_if_set(spec, path, "podReplacementPolicy", replacement, errors);
    let at = path.child("template");
    pod::template(spec.at("template"), &at, errors);
    let policy = spec.at("template").at("spec").text("restartPolicy");
    let at = at.child("spec.restartPolicy");
    match policy {
        "OnFailure" if spec.has("podFailurePolicy") => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            errors.push(FieldError::invalid(&at, policy, detail));
        }
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
    let all = [
        ("controller-uid", uid),
        ("job-name", name),
        ("batch.kubernetes.io/controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
    ];
    for (key, value) in all {
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
        let value = shown("?m.LabelSelector", spec.at("selector"));
        errors.push(FieldError::invalid_shown(&at, &value, detail));
    }
}

/// Who else manages the job: `example.com/manager`.
fn manager(name: &str, path: &Path<'_>, errors: &mut Errors) {
    kubewright_validation::check::domain_path(name, path, errors);
    if name.len() > 63 {
        errors.push(FieldError::too_long(path, 63));
    }
}

/// Whether the name of a time zone may have this part, however old the name.
fn is_part_of_zone(part: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
    (1..=14).contains(&part.len())
        && !matches!(part, "." | "..")
        && !part.starts_with('-')
        && part.bytes().all(is_known)
}

fn time_zone(zone: &str, path: &Path<'_>, errors: &mut Errors) {
    if zone.is_empty() {
        let detail = "timeZone must be nil or non-empty string";
        errors.push(FieldError::invalid(path, zone, detail));
    } else if !zone.split('/').all(is_part_of_zone) {
        let detail = format!("unknown time zone {zone}");
        errors.push(FieldError::invalid(path, zone, &detail));
    } else if zone.eq_ignore_ascii_case("local") {
        let detail =
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.push(FieldError::invalid(path, zone, detail));
    } else if let Err(why) = schedule::location(zone) {
        errors.push(FieldError::invalid(path, zone, &why));
    }
}
