//! Whether a Job has succeeded or failed, and what its conditions say of it.

use serde_json::{Map, Value, json};
use tokio::time::Duration;

use super::super::super::clock::Clock;
use super::super::super::object::{number, text};
use super::super::status::{condition, count, put_condition};
use super::job::Job;

/// What is decided of a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Open,
    Succeeded,
    /// Reason and message.
    Failed(&'static str, &'static str),
}

impl Job<'_> {
    pub(super) fn verdict(&mut self) -> Verdict {
        if let Some(known) = condition(self.status(), "FailureTarget") {
            return match text(known, "/reason") {
                "DeadlineExceeded" => LATE,
                _ => EXHAUSTED,
            };
        }
        if condition(self.status(), "SuccessCriteriaMet").is_some() {
            return Verdict::Succeeded;
        }
        let (succeeded, failed) = self.ended();
        if failed > number(&self.object, "/spec/backoffLimit") {
            return EXHAUSTED;
        }
        if self.deadline().is_some_and(|left| left.is_zero()) {
            return LATE;
        }
        let done = match self.object["spec"]["completions"].as_i64() {
            Some(completions) => succeeded >= completions,
            None => succeeded > 0 && self.active().is_empty(),
        };
        if done && !self.is_suspended() {
            Verdict::Succeeded
        } else {
            Verdict::Open
        }
    }

    /// The time until the Job is late, if it can be.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let seconds = self.object["spec"]["activeDeadlineSeconds"].as_i64()?;
        let since = self.object["status"]["startTime"].as_str()?;
        Some(self.cx.clock.until(since, seconds))
    }

    /// Says first what has been decided and, when the last pod has ended and is counted, that it has come so.
    pub(super) fn conclude(&mut self, verdict: &Verdict) {
        let (target, last, reason, message) = match verdict {
            Verdict::Open => return,
            Verdict::Succeeded => (
                "SuccessCriteriaMet",
                "Complete",
                "CompletionsReached",
                "Reached expected number of succeeded pods",
            ),
            Verdict::Failed(reason, message) => ("FailureTarget", "Failed", *reason, *message),
        };
        let clock = &self.cx.clock;
        let running = count(&self.pods, |pod| !pod.has_finished());
        let status = self.status();
        if condition(status, target).is_none() {
            put(clock, status, target, ("True", reason, message));
        }
        let uncounted = status
            .get("uncountedTerminatedPods")
            .and_then(Value::as_object)
            .is_some_and(|noted| !noted.is_empty());
        if running > 0 || uncounted {
            return;
        }
        put(clock, status, last, ("True", reason, message));
        if last == "Complete" {
            status.insert("completionTime".to_owned(), clock.text().into());
        }
    }
}

const EXHAUSTED: Verdict = Verdict::Failed(
    "BackoffLimitExceeded",
    "Job has reached the specified backoff limit",
);
const LATE: Verdict = Verdict::Failed(
    "DeadlineExceeded",
    "Job was active longer than specified deadline",
);

/// Sets a condition of a Job.
pub(super) fn put(
    clock: &Clock,
    status: &mut Map<String, Value>,
    what: &str,
    (is, reason, message): (&str, &str, &str),
) {
    let now = clock.text();
    let condition = json!({
        "type": what,
        "status": is,
        "reason": reason,
        "message": message,
        "lastProbeTime": now,
        "lastTransitionTime": now,
    });
    put_condition(status, condition);
}

/// Whether a Job is over.
pub(super) fn is_finished(status: &Map<String, Value>) -> bool {
    ["Complete", "Failed"]
        .iter()
        .any(|what| condition(status, what).is_some_and(|known| known["status"] == "True"))
}

/// When it was over.
pub(super) fn finished_since(status: &Map<String, Value>) -> &str {
    let mut last = ["Complete", "Failed"]
        .iter()
        .filter_map(|what| condition(status, what));
    last.next()
        .map_or("", |known| text(known, "/lastTransitionTime"))
}
