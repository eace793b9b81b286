//! The status of a Deployment: its counts, whether it is available, and how its rollout goes.

use serde_json::{Map, Value, json};
use tokio::time::Duration;

use super::super::super::object::{map, number, text};
use super::super::super::queue::Next;
use super::super::status::{condition, put_condition, remove_condition, set_condition, set_count};
use super::Rollout;
use super::replica_set::ReplicaSet;

impl Rollout<'_> {
    /// Whether everything is of the new template and available, as far as the status says.
    pub(super) fn is_complete(&self) -> bool {
        is_complete(&map(&self.deployment, "/status"), &self.deployment)
    }

    /// Brings the status up to date; says when it is to be looked at again if nothing happens.
    pub(super) fn settle_status(&mut self, progress: bool) -> Next {
        let before = map(&self.deployment, "/status");
        let mut status = self.counts();
        let clock = &self.cx.clock;
        let available = number_of(&status, "availableReplicas");
        let least = self.wanted() - self.posts.unavailable;
        let available = if available >= least {
            let message = "Deployment has minimum availability.";
            ("True", "MinimumReplicasAvailable", message)
        } else {
            let message = "Deployment does not have minimum availability.";
            ("False", "MinimumReplicasUnavailable", message)
        };
        set_condition(clock, &mut status, "Available", available);
        if progress {
            self.settle_progress(&before, &mut status);
            match self.failure() {
                Some(failure) => {
                    let known = condition(&status, "ReplicaFailure");
                    let same = known.is_some_and(|known| known["reason"] == failure["reason"]);
                    if !same {
                        put_condition(&mut status, failure);
                    }
                }
                None => remove_condition(&mut status, "ReplicaFailure"),
            }
        }
        *self.status() = status;
        self.next_check()
    }

    fn counts(&self) -> Map<String, Value> {
        let mut status = map(&self.deployment, "/status");
        let sum = |of: fn(&ReplicaSet) -> i64| self.sets().map(of).sum::<i64>();
        let available = sum(ReplicaSet::available);
        let updated = self.new.as_ref().map_or(0, ReplicaSet::replicas);
        for (name, count) in [
            (
                "observedGeneration",
                number(&self.deployment, "/metadata/generation"),
            ),
            ("replicas", sum(ReplicaSet::replicas)),
            ("updatedReplicas", updated),
            (
                "readyReplicas",
                sum(|set| number(&set.value, "/status/readyReplicas")),
            ),
            ("availableReplicas", available),
            ("unavailableReplicas", (self.total() - available).max(0)),
        ] {
            set_count(&mut status, name, count);
        }
        // Only sets that know how many of their pods are ending can be added up.
        let ending: Option<i64> = self
            .sets()
            .map(|set| set.value["status"]["terminatingReplicas"].as_i64())
            .sum();
        match ending {
            Some(ending) => status.insert("terminatingReplicas".to_owned(), ending.into()),
            None => status.remove("terminatingReplicas"),
        };
        status
    }

    fn settle_progress(&self, before: &Map<String, Value>, status: &mut Map<String, Value>) {
        if !self.has_deadline() {
            remove_condition(status, "Progressing");
            return;
        }
        let current = condition(before, "Progressing").cloned();
        let reason = current.as_ref().map_or("", |it| text(it, "/reason"));
        let same = number_of(status, "replicas") == number_of(status, "updatedReplicas");
        if same && reason == "NewReplicaSetAvailable" {
            return;
        }
        let subject = self.new.as_ref().map_or_else(
            || format!("Deployment \"{}\"", self.name()),
            |set| format!("ReplicaSet \"{}\"", set.name()),
        );
        let clock = &self.cx.clock;
        if is_complete(status, &self.deployment) {
            let message = format!("{subject} has successfully progressed.");
            let done = ("True", "NewReplicaSetAvailable", message.as_str());
            set_condition(clock, status, "Progressing", done);
        } else if is_progress(before, status) {
            let now = clock.text();
            let since = current
                .as_ref()
                .filter(|current| current["status"] == "True")
                .map_or(now.as_str(), |current| text(current, "/lastTransitionTime"));
            let condition = json!({
                "type": "Progressing",
                "status": "True",
                "reason": "ReplicaSetUpdated",
                "message": format!("{subject} is progressing."),
                "lastUpdateTime": now,
                "lastTransitionTime": since,
            });
            put_condition(status, condition);
        } else if self.is_late(current.as_ref(), status) {
            let message = format!("{subject} has timed out progressing.");
            let late = ("False", "ProgressDeadlineExceeded", message.as_str());
            set_condition(clock, status, "Progressing", late);
        }
    }

    fn is_late(&self, current: Option<&Value>, status: &Map<String, Value>) -> bool {
        let Some(current) = current else {
            return false;
        };
        match text(current, "/reason") {
            "NewReplicaSetAvailable" => false,
            "ProgressDeadlineExceeded" => true,
            _ if is_complete(status, &self.deployment) => false,
            _ => self.left(current).is_zero(),
        }
    }

    /// The time until a rollout without progress is late.
    fn left(&self, condition: &Value) -> Duration {
        let deadline = number(&self.deployment, "/spec/progressDeadlineSeconds");
        let since = text(condition, "/lastUpdateTime");
        self.cx.clock.until(since, deadline)
    }

    fn failure(&self) -> Option<Value> {
        let mut sets = self.new.iter().chain(&self.old);
        let failed = sets.find_map(|set| {
            let status = map(&set.value, "/status");
            condition(&status, "ReplicaFailure").cloned()
        });
        let mut failed = failed?;
        failed["lastUpdateTime"] = failed["lastTransitionTime"].clone();
        Some(failed)
    }

    fn next_check(&mut self) -> Next {
        if !self.has_deadline() || self.is_paused() || self.is_complete() {
            return Next::Done;
        }
        let status = map(&self.deployment, "/status");
        match condition(&status, "Progressing") {
            Some(current) if text(current, "/reason") != "ProgressDeadlineExceeded" => {
                // A second more, since the times in objects are whole seconds.
                Next::After(self.left(current) + Duration::from_secs(1))
            }
            _ => Next::Done,
        }
    }
}

fn number_of(status: &Map<String, Value>, name: &str) -> i64 {
    status.get(name).and_then(Value::as_i64).unwrap_or_default()
}

fn is_complete(status: &Map<String, Value>, deployment: &Value) -> bool {
    let wanted = number(deployment, "/spec/replicas");
    let counts = ["updatedReplicas", "replicas", "availableReplicas"];
    counts.iter().all(|name| number_of(status, name) == wanted)
        && number_of(status, "observedGeneration") >= number(deployment, "/metadata/generation")
}

/// Whether more pods are new, fewer are old, or more are of use than before.
fn is_progress(before: &Map<String, Value>, after: &Map<String, Value>) -> bool {
    let old = |status| number_of(status, "replicas") - number_of(status, "updatedReplicas");
    let more = |name| number_of(after, name) > number_of(before, name);
    more("updatedReplicas")
        || old(after) < old(before)
        || more("readyReplicas")
        || more("availableReplicas")
}
