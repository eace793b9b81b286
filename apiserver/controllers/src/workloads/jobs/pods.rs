//! The pods that a Job starts and stops.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use serde_json::Value;
use tokio::time::Duration;

use super::super::super::client::Failure;
use super::super::super::object::{Item, list, pod_of, text};
use super::super::super::work::Context;
use super::super::pod_control;
use super::super::status::count;
use super::backoff;
use super::indexes::{self, Indexes};
use super::job::{FINALIZER, Job, NAME};
use super::tracking::remove_finalizer;

/// The most pods that are started or stopped at once.
const MOST: usize = 500;

impl Job<'_> {
    /// Starts pods that are missing or stops those that are too many. Returns the time until missing pods may start.
    pub(super) async fn manage(&mut self) -> Result<Option<Duration>, Failure> {
        let wanted = usize::try_from(self.wanted()).unwrap_or_default();
        let mut surplus = self.surplus(self.active.len().saturating_sub(wanted));
        surplus.truncate(MOST);
        if !surplus.is_empty() {
            self.delete(&surplus, true).await?;
            return Ok(None);
        }
        if self.is_suspended() {
            return Ok(None);
        }
        let mut running = self.active.len();
        if self.replaces_finished_only() {
            running += usize::try_from(self.terminating).unwrap_or_default();
        }
        let missing = wanted.saturating_sub(running).min(MOST);
        if missing == 0 {
            return Ok(None);
        }
        if self.limit_per_index().is_none() {
            let left = self.backoff.left(&self.cx.clock);
            if !left.is_zero() {
                return Ok(Some(left));
            }
        }
        let pods: Vec<Value> = if self.is_indexed() {
            let pending = self.pending_indexes(missing);
            let waits = pending.iter().map(|index| self.wait_of(*index));
            let waits: Vec<Duration> = waits.collect();
            let due: Vec<i64> = pending
                .into_iter()
                .zip(&waits)
                .filter(|(_, wait)| wait.is_zero())
                .map(|(index, _)| index)
                .collect();
            if due.is_empty() {
                return Ok(waits.into_iter().min());
            }
            due.into_iter().map(|index| self.pod(Some(index))).collect()
        } else {
            vec![self.pod(None); missing]
        };
        let cx = self.cx;
        let created = pod_control::create_many(cx, NAME, &self.object, &pods).await;
        let uid = text(&self.object, "/metadata/uid");
        // Some may have been created before one failed.
        let of_job = cx.look(|graph| graph.controlled(uid, "pods"));
        self.active = of_job
            .into_iter()
            .filter(|pod| {
                pod.is_active_pod()
                    && (self
                        .active
                        .iter()
                        .any(|known| known.meta.uid == pod.meta.uid)
                        || !self.pods.iter().any(|known| known.meta.uid == pod.meta.uid))
            })
            .collect();
        created.map(|()| None)
    }

    /// How many pods shall run.
    fn wanted(&self) -> i64 {
        if self.is_suspended() {
            return 0;
        }
        let parallelism = self.number("/spec/parallelism");
        match self.completions() {
            Some(completions) => (completions - self.succeeded).min(parallelism).max(0),
            None if self.succeeded > 0 => count(&self.active, |_| true),
            None => parallelism,
        }
    }

    /// The pods that are too many: those without an index of their own, and at least this number.
    fn surplus(&self, least: usize) -> Vec<Arc<Item>> {
        let mut surplus = Vec::new();
        let mut rest: Vec<Arc<Item>> = Vec::new();
        if self.is_indexed() {
            let mut by_index: BTreeMap<i64, Vec<Arc<Item>>> = BTreeMap::new();
            for pod in &self.active {
                match self.index(pod) {
                    Some(index) => by_index.entry(index).or_default().push(pod.clone()),
                    None => surplus.push(pod.clone()),
                }
            }
            for mut pods in by_index.into_values() {
                sort_by_worth(&mut pods);
                rest.extend(pods.pop());
                surplus.extend(pods);
            }
        } else {
            rest.clone_from(&self.active);
        }
        if surplus.len() < least {
            sort_by_worth(&mut rest);
            let more = least - surplus.len();
            surplus.extend(rest.into_iter().take(more));
        }
        surplus
    }

    /// The first indexes without a pod and without an end.
    fn pending_indexes(&self, most: usize) -> Vec<i64> {
        let mut taken: Indexes = self.succeeded_indexes.clone();
        taken.extend(self.failed_indexes.iter().flatten());
        taken.extend(self.active.iter().filter_map(|pod| self.index(pod)));
        if self.replaces_finished_only() {
            let ending = self
                .pods
                .iter()
                .filter(|pod| pod.is_deleting() && !pod.has_finished());
            taken.extend(ending.filter_map(|pod| self.index(pod)));
        }
        (0..self.completions().unwrap_or_default())
            .filter(|index| !taken.contains(index))
            .take(most)
            .collect()
    }

    /// The time until an index gets its next pod.
    fn wait_of(&self, index: i64) -> Duration {
        let Some(failed) = self.kept.get(&index) else {
            return Duration::ZERO;
        };
        let (counted, ignored) = indexes::failures(failed);
        let failures = u32::try_from(counted + ignored + 1).unwrap_or(u32::MAX);
        backoff::left(&self.cx.clock, failures, &backoff::finished_at(failed))
    }

    fn pod(&self, index: Option<i64>) -> Value {
        let mut pod = pod_of(&self.object["spec"]["template"], &self.object);
        let mut finalizers = list(&pod, "/metadata/finalizers").to_vec();
        if !finalizers.iter().any(|known| known == FINALIZER) {
            finalizers.push(FINALIZER.into());
        }
        pod["metadata"]["finalizers"] = finalizers.into();
        let Some(index) = index else {
            return pod;
        };
        indexes::mark(&mut pod, text(&self.object, "/metadata/name"), index);
        if self.limit_per_index().is_some() {
            let failures = self.kept.get(&index).map_or((0, 0), |failed| {
                let (counted, ignored) = indexes::failures(failed);
                if self.counts(failed) {
                    (counted + 1, ignored)
                } else {
                    (counted, ignored + 1)
                }
            });
            indexes::mark_failures(&mut pod, failures);
        }
        pod
    }
}

/// Sorts pods, those that are missed least first.
fn sort_by_worth(pods: &mut [Arc<Item>]) {
    pods.sort_by_cached_key(|item| {
        let pod = &item.pod;
        let phase = match pod.phase.as_str() {
            "Pending" => 0,
            "Running" => 2,
            _ => 1,
        };
        (
            !pod.node.is_empty(),
            phase,
            pod.ready,
            Reverse(pod.ready_since.clone()),
            Reverse(pod.restarts),
            Reverse(item.meta.creation_timestamp.clone()),
        )
    });
}

/// Deletes pods; with `let_go` without counting them.
pub(super) async fn delete(
    cx: &Context,
    job: &Value,
    pods: &[Arc<Item>],
    let_go: bool,
) -> Vec<Result<(), Failure>> {
    let deleted = pods.iter().map(async |pod| {
        if let_go && pod.has_finalizer(FINALIZER) {
            remove_finalizer(cx, pod).await?;
        }
        pod_control::delete(cx, NAME, job, pod).await
    });
    join_all(deleted).await
}
