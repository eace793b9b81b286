//! What cannot be true of a job's status, as far as an update changes it.

use std::collections::BTreeSet;

use kubewright_apimachinery::conform::ZERO_TIME;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::batch::indexes;
use kubewright_validation::check::{Errors, IMMUTABLE, not_negative};
use kubewright_validation::internal::shown;
use kubewright_validation::semantic::same;

pub(super) fn update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("status");
    for counter in ["active", "succeeded", "failed", "ready", "terminating"] {
        not_negative(new.at("status"), &path, counter, errors);
    }
    let change = Change::of(new, old);
    uncounted_pods(change.now.status.at("uncountedTerminatedPods"), errors);
    change.conditions_and_times(errors);
    change.pods_of_a_finished_job(errors);
    change.indexes(errors);
    change.counters(errors);
    change.criteria(errors);
    change.what_never_changes(errors);
}

/// A status, with the conditions that matter.
#[derive(Clone, Copy)]
struct State<'a> {
    status: &'a Value,
}

impl<'a> State<'a> {
    fn of(job: &'a Value) -> Self {
        let status = job.at("status");
        Self { status }
    }

    fn complete(self) -> bool {
        has(self.status, "Complete", "True")
    }

    fn failed(self) -> bool {
        has(self.status, "Failed", "True")
    }

    fn failure_target(self) -> bool {
        has(self.status, "FailureTarget", "True")
    }

    fn criteria_met(self) -> bool {
        has(self.status, "SuccessCriteriaMet", "True")
    }

    fn finished(self) -> bool {
        self.complete() || self.failed()
    }

    fn count(self, field: &str) -> i64 {
        self.status.int(field).unwrap_or(0)
    }
}

fn has(status: &Value, kind: &str, value: &str) -> bool {
    let mut all = status.list("conditions").iter();
    all.any(|condition| condition.text("type") == kind && condition.text("status") == value)
}

/// A status with the one before. Most rules hold only where what they are about changes, so that a status that breaks one of
/// them can still be updated.
struct Change<'a> {
    spec: &'a Value,
    now: State<'a>,
    before: State<'a>,
    path: Path<'static>,
    finishes: bool,
    completes: bool,
    fails: bool,
}

impl<'a> Change<'a> {
    fn of(new: &'a Value, old: &'a Value) -> Self {
        let (now, before) = (State::of(new), State::of(old));
        Self {
            spec: new.at("spec"),
            path: Path::new("status"),
            finishes: now.finished() != before.finished(),
            completes: now.complete() != before.complete(),
            fails: now.failed() != before.failed(),
            now,
            before,
        }
    }

    fn changes(&self, field: &str) -> bool {
        self.now.status.at(field) != self.before.status.at(field)
    }

    fn active_changes(&self) -> bool {
        self.now.count("active") != self.before.count("active")
    }

    fn conditions(&self, detail: &str) -> FieldError {
        FieldError::invalid_omitted(&self.path.child("conditions"), detail)
    }

    fn invalid(&self, field: &str, detail: &str) -> FieldError {
        // Go shows the zero time as null.
        let value = match self.now.status.at(field) {
            Value::String(time) if time == ZERO_TIME => Value::Null,
            value => value.clone(),
        };
        FieldError::invalid(&self.path.child(field), value, detail)
    }

    fn required(&self, field: &str, detail: &str) -> FieldError {
        FieldError::required(&self.path.child(field), detail)
    }

    fn conditions_and_times(&self, errors: &mut Errors) {
        let now = self.now;
        let target_changes = now.failure_target() != self.before.failure_target();
        let met_changes = now.criteria_met() != self.before.criteria_met();
        let starts = self.changes("startTime");
        let completes = self.completes || self.changes("completionTime");
        let (start, completion) = (now.status.at("startTime"), now.status.at("completionTime"));
        if (self.completes || self.fails) && now.complete() && now.failed() {
            errors.push(self.conditions("cannot set Complete=True and Failed=true conditions"));
        }
        if (self.completes || target_changes) && now.complete() && now.failure_target() {
            let detail = "cannot set Complete=True and FailureTarget=true conditions";
            errors.push(self.conditions(detail));
        }
        if completes && !completion.is_null() && !now.complete() {
            let detail = "cannot set completionTime when there is no Complete=True condition";
            errors.push(self.invalid("completionTime", detail));
        }
        if completes && completion.is_null() && now.complete() {
            let detail = "completionTime is required for Complete jobs";
            errors.push(self.required("completionTime", detail));
        }
        // Times have one form, in which the earlier one is the lesser text.
        let is_early = completion.as_str().zip(start.as_str());
        if (starts || self.changes("completionTime"))
            && is_early.is_some_and(|(completion, start)| completion < start)
        {
            let detail = "must be equal to or after `startTime`";
            errors.push(self.invalid("completionTime", detail));
        }
        if (self.fails || self.changes("failedIndexes")) && now.failed() && !now.failure_target() {
            let detail =
                "cannot set Failed=True condition without the FailureTarget=true condition";
            errors.push(self.conditions(detail));
        }
        if (self.completes || met_changes) && now.complete() && !now.criteria_met() {
            let detail =
                "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
            errors.push(self.conditions(detail));
        }
    }

    fn pods_of_a_finished_job(&self, errors: &mut Errors) {
        let now = self.now;
        if !now.finished() {
            return;
        }
        if (self.finishes || self.active_changes()) && now.count("active") > 0 {
            errors.push(self.invalid("active", "active>0 is invalid for finished job"));
        }
        let needs_no_pods = self.spec.flag("suspend") && self.spec.int("completions") == Some(0);
        if (self.finishes || self.changes("startTime"))
            && !needs_no_pods
            && !now.status.has("startTime")
        {
            errors.push(self.required("startTime", "startTime is required for finished job"));
        }
        let uncounted = now.status.at("uncountedTerminatedPods");
        let count = uncounted.list("failed").len() + uncounted.list("succeeded").len();
        let same_pods = same(uncounted, self.before.status.at("uncountedTerminatedPods"));
        if (self.finishes || !same_pods) && count > 0 {
            let value = shown("?batch.UncountedTerminatedPods", uncounted);
            let at = self.path.child("uncountedTerminatedPods");
            let detail = "must be empty for finished job";
            errors.push(FieldError::invalid_shown(&at, &value, detail));
        }
    }

    fn indexes(&self, errors: &mut Errors) {
        let status = self.now.status;
        let (completed, failed) = (status.text("completedIndexes"), status.at("failedIndexes"));
        let completed_change = completed != self.before.status.text("completedIndexes");
        let failed_change = self.changes("failedIndexes");
        let completions = self.spec.int("completions");
        let has_limit = self.spec.has("backoffLimitPerIndex");
        let check = |field: &str, text: &str, errors: &mut Errors| {
            let problem = completions.and_then(|all| indexes::count(text, all).err());
            if let Some(problem) = problem {
                let detail = format!("error parsing {field}: {problem}");
                errors.push(self.invalid(field, &detail));
            }
        };
        if completed_change {
            check("completedIndexes", completed, errors);
        }
        if let Some(text) = failed.as_str().filter(|_| failed_change && has_limit) {
            check("failedIndexes", text, errors);
        }
        let is_indexed = self.spec.text("completionMode") == "Indexed";
        if completed_change && !completed.is_empty() && !is_indexed {
            let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
            errors.push(self.invalid("completedIndexes", detail));
        }
        if failed_change && !has_limit && !failed.is_null() {
            let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
            errors.push(self.invalid("failedIndexes", detail));
        }
        let both = completions.zip(failed.as_str());
        let overlap = both.and_then(|(all, failed)| indexes::overlap(completed, failed, all));
        if let Some(index) = overlap.filter(|_| failed_change || completed_change) {
            let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
            errors.push(self.invalid("failedIndexes", &detail));
        }
    }

    fn counters(&self, errors: &mut Errors) {
        let now = self.now;
        if (self.finishes || self.changes("terminating"))
            && now.finished()
            && now.count("terminating") > 0
        {
            errors.push(self.invalid("terminating", "terminating>0 is invalid for finished job"));
        }
        if (self.changes("ready") || self.active_changes())
            && now.status.has("ready")
            && now.count("ready") > now.count("active")
        {
            errors.push(self.invalid("ready", "cannot set more ready pods than active"));
        }
    }

    fn criteria(&self, errors: &mut Errors) {
        let now = self.now;
        if now.criteria_met() && now.failed() {
            let detail = "cannot set SuccessCriteriaMet=True and Failed=true conditions";
            errors.push(self.conditions(detail));
        }
        if now.criteria_met() && now.failure_target() {
            let detail = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions";
            errors.push(self.conditions(detail));
        }
        if self.spec.has("successPolicy") && now.complete() && !now.criteria_met() {
            let detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
            errors.push(self.conditions(detail));
        }
    }

    fn what_never_changes(&self, errors: &mut Errors) {
        let (now, before) = (self.now, self.before);
        for (kind, was, is) in [
            ("Failed", before.failed(), now.failed()),
            ("Complete", before.complete(), now.complete()),
            (
                "FailureTarget",
                before.failure_target(),
                now.failure_target(),
            ),
        ] {
            if was && !is {
                let detail = format!("cannot disable the terminal {kind}=True condition");
                errors.push(self.conditions(&detail));
            }
        }
        // An indexed job that runs all its pods at once can be made smaller.
        let can_shrink = self.spec.text("completionMode") == "Indexed"
            && self.spec.at("completions") == self.spec.at("parallelism");
        for (field, may_fall) in [("failed", false), ("succeeded", can_shrink)] {
            let count = now.count(field);
            if !may_fall && count < before.count(field) {
                let detail = format!("cannot decrease the {field} counter");
                let at = self.path.child(field);
                errors.push(FieldError::invalid(&at, count, &detail));
            }
        }
        let both_have = |field| now.status.has(field) && before.status.has(field);
        if both_have("completionTime") && self.changes("completionTime") {
            errors.push(self.invalid("completionTime", IMMUTABLE));
        }
        let resumes =
            has(before.status, "Suspended", "True") && has(now.status, "Suspended", "False");
        if before.status.has("startTime")
            && self.changes("startTime")
            && !resumes
            && !self.spec.flag("suspend")
        {
            let detail = "field is immutable for unsuspended job once set";
            errors.push(self.invalid("startTime", detail));
        }
        if before.criteria_met() && !now.criteria_met() {
            errors.push(self.conditions("cannot disable the SuccessCriteriaMet=True condition"));
        }
        if before.complete() && !before.criteria_met() && now.criteria_met() {
            let detail =
                "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
            errors.push(self.conditions(detail));
        }
    }
}

/// Each pod that is not counted yet is named once.
fn uncounted_pods(pods: &Value, errors: &mut Errors) {
    let path = Path::new("status.uncountedTerminatedPods");
    let mut seen = BTreeSet::new();
    for list in ["succeeded", "failed"] {
        let at = path.child(list);
        for (index, uid) in pods.list(list).iter().enumerate() {
            let uid = uid.as_str().unwrap_or_default();
            if uid.is_empty() {
                errors.push(FieldError::invalid(
                    &at.index(index),
                    "",
                    "must not be empty",
                ));
            } else if !seen.insert(uid) {
                errors.push(FieldError::duplicate(&at.index(index), uid));
            }
        }
    }
}
