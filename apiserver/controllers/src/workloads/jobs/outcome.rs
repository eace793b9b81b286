//! Whether a Job has succeeded or failed, and what its conditions say of it.

use serde_json::{Map, Value, json};
use tokio::time::Duration;

use super::super::super::clock::Clock;
use super::super::super::object::{list, number, text};
use super::super::status::{condition, count, put_condition};
use super::decision::Decision;
use super::failure_policy::{self, Action};
use super::indexes;
use super::job::Job;

impl Job<'_> {
    /// Decides whether the Job fails or meets its success policy; that enough pods have succeeded is decided later.
    pub(super) fn decide(&mut self) -> Option<Decision> {
        for succeeds in [true, false] {
            let decided = Decision {
                succeeds,
                reason: String::new(),
                message: String::new(),
            };
            let known = condition(self.status(), decided.interim());
            if let Some(known) = known.filter(|known| known["status"] == "True") {
                return Some(Decision {
                    reason: text(known, "/reason").to_owned(),
                    message: text(known, "/message").to_owned(),
                    ..decided
                });
            }
        }
        let failed = self.pods.iter().filter(|pod| self.has_failed(pod));
        for pod in failed {
            if let Some(Action::FailJob(message)) = failure_policy::action(&self.object, pod) {
                return Some(Decision::fails("PodFailurePolicy", &message));
            }
        }
        if self.failed > self.number("/spec/backoffLimit") || self.restarts_too_often() {
            return Some(Decision::fails(
                "BackoffLimitExceeded",
                "Job has reached the specified backoff limit",
            ));
        }
        if self.deadline().is_some_and(|left| left.is_zero()) {
            return Some(Decision::fails(
                "DeadlineExceeded",
                "Job was active longer than specified deadline",
            ));
        }
        self.decide_by_indexes()
    }

    fn decide_by_indexes(&self) -> Option<Decision> {
        let completions = self.completions()?;
        if let Some(failed) = self.failed_indexes.as_ref().map(indexes::len) {
            let most = self.object["spec"]["maxFailedIndexes"].as_i64();
            if most.is_some_and(|most| failed > most) {
                return Some(Decision::fails(
                    "MaxFailedIndexesExceeded",
                    "Job has exceeded the specified maximal number of failed indexes",
                ));
            }
            let succeeded = indexes::len(&self.succeeded_indexes);
            if failed > 0 && failed + succeeded >= completions {
                return Some(Decision::fails("FailedIndexes", "Job has failed indexes"));
            }
        }
        let rules = list(&self.object, "/spec/successPolicy/rules");
        let met = rules.iter().position(|rule| {
            let least = rule["succeededCount"].as_i64();
            let among = rule["succeededIndexes"].as_str();
            let enough = |succeeded: i64| least.is_some_and(|least| succeeded >= least);
            match among.map(|among| indexes::read(among, completions)) {
                Some(among) if among.is_empty() => false,
                Some(among) => {
                    let both = among.intersection(&self.succeeded_indexes);
                    let succeeded = count(both, |_| true);
                    succeeded == indexes::len(&among) || enough(succeeded)
                }
                None => enough(indexes::len(&self.succeeded_indexes)),
            }
        })?;
        if self.succeeded_indexes.is_empty() || !self.is_indexed() {
            return None;
        }
        let message = format!("Matched rules at index {met}");
        Some(Decision::succeeds("SuccessPolicy", &message))
    }

    /// Whether the containers of pods that restart them have failed too often.
    fn restarts_too_often(&self) -> bool {
        if text(&self.object, "/spec/template/spec/restartPolicy") != "OnFailure" {
            return false;
        }
        let pods = self.pods.iter().filter(|pod| !pod.has_finished());
        let restarts: i64 = pods
            .map(|pod| {
                let object = pod.object.value();
                ["initContainerStatuses", "containerStatuses"]
                    .into_iter()
                    .flat_map(|name| list(&object["status"], &format!("/{name}")))
                    .map(|status| number(status, "/restartCount"))
                    .sum::<i64>()
            })
            .sum();
        match self.number("/spec/backoffLimit") {
            0 => restarts > 0,
            limit => restarts >= limit,
        }
    }

    /// The time until the Job is late, if it can be.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let seconds = self.object["spec"]["activeDeadlineSeconds"].as_i64()?;
        let since = self.object["status"]["startTime"].as_str()?;
        let left = self.cx.clock.until(since, seconds);
        (!self.is_suspended()).then_some(left)
    }
}

/// Sets a condition of a Job; returns whether it has changed. One that never was is not set to `False`.
pub(super) fn put(
    clock: &Clock,
    status: &mut Map<String, Value>,
    what: &str,
    (is, reason, message): (&str, &str, &str),
) -> bool {
    let known = condition(status, what);
    let same = |known: &Value| {
        known["status"] == is && known["reason"] == reason && known["message"] == message
    };
    if known.is_some_and(same) || (known.is_none() && is == "False") {
        return false;
    }
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
    true
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
