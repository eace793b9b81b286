//! The time between the failure of a Job's pod and its replacement.

use std::sync::Arc;

use kubewright_apimachinery::time::seconds;
use tokio::time::Duration;

use super::super::super::clock::Clock;
use super::super::super::object::{Item, list, text};

/// The failures of a Job since its last success.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    failures: u32,
    last: String,
}

impl Backoff {
    /// Takes over pods that have newly ended.
    pub(super) fn note(&mut self, succeeded: &[Arc<Item>], failed: &[Arc<Item>]) {
        let mut times: Vec<String> = failed.iter().map(|pod| finished_at(pod)).collect();
        if let Some(success) = succeeded.iter().map(|pod| finished_at(pod)).max() {
            *self = Self::default();
            times.retain(|time| *time > success);
        }
        let new = u32::try_from(times.len()).unwrap_or(u32::MAX);
        self.failures = self.failures.saturating_add(new);
        if let Some(last) = times.into_iter().max() {
            self.last = last;
        }
    }

    /// The time until another pod is created.
    pub(super) fn left(&self, clock: &Clock) -> Duration {
        left(clock, self.failures, &self.last)
    }
}

/// The time until another pod is created after so many failures, the last of them at a time.
pub(super) fn left(clock: &Clock, failures: u32, last: &str) -> Duration {
    const FIRST: i64 = 10;
    const LONGEST: i64 = 600;
    let Some(exponent) = failures.checked_sub(1) else {
        return Duration::ZERO;
    };
    let wait = FIRST.saturating_mul(2_i64.saturating_pow(exponent));
    clock.until(last, wait.min(LONGEST))
}

/// When a pod ended: its last container or, of a pod that is deleted, when it became unready or was deleted.
pub(super) fn finished_at(pod: &Item) -> String {
    let object = pod.object.value();
    let sidecars: Vec<&str> = list(&object, "/spec/initContainers")
        .iter()
        .filter(|container| container["restartPolicy"] == "Always")
        .map(|container| text(container, "/name"))
        .collect();
    let first = list(&object, "/status/initContainerStatuses");
    let ends: Vec<&str> = list(&object, "/status/containerStatuses")
        .iter()
        .chain(
            first
                .iter()
                .filter(|status| sidecars.contains(&text(status, "/name"))),
        )
        .map(|status| text(status, "/state/terminated/finishedAt"))
        .collect();
    if let Some(last) = ends.iter().max()
        && ends.iter().all(|end| !end.is_empty())
    {
        return (*last).to_owned();
    }
    let unready = list(&object, "/status/conditions")
        .iter()
        .find(|condition| condition["type"] == "Ready" && condition["status"] == "False");
    if let Some(condition) = unready {
        return text(condition, "/lastTransitionTime").to_owned();
    }
    let Some(deleted) = &pod.meta.deletion_timestamp else {
        return pod.meta.creation_timestamp.clone();
    };
    let grace = i64::from(pod.meta.deletion_grace_period_seconds.unwrap_or_default());
    let since = deleted.parse::<jiff::Timestamp>().ok();
    let since = since.and_then(|at| at.checked_sub(jiff::SignedDuration::from_secs(grace)).ok());
    since.map_or_else(|| deleted.clone(), seconds)
}
