//! A Job with its pods, as one reconcile sees and changes it.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::super::client::{Failure, JOBS, Who};
use super::super::super::object::{Item, flag, list, number, text};
use super::super::super::work::Context;
use super::backoff::Backoff;
use super::decision::Decision;
use super::indexes::Indexes;
use super::{failure_policy, indexes};

pub(super) const NAME: &str = "job-controller";
pub(super) const WHO: Who<'static> = Who::Controller(NAME);

/// What keeps a pod until it is counted.
pub(super) const FINALIZER: &str = "batch.kubernetes.io/job-tracking";

#[derive(Debug)]
pub(super) struct Job<'a> {
    pub(super) cx: &'a Context,
    pub(super) object: Value,
    /// The status as it is stored.
    pub(super) stored: Value,
    pub(super) pods: Vec<Arc<Item>>,
    pub(super) decision: Option<Decision>,
    pub(super) active: Vec<Arc<Item>>,
    /// Number of pods that are being deleted and have not finished.
    pub(super) terminating: i64,
    pub(super) ready: i64,
    pub(super) succeeded: i64,
    pub(super) failed: i64,
    pub(super) succeeded_indexes: Indexes,
    /// The indexes that were known to have succeeded before.
    pub(super) known_indexes: Indexes,
    /// The indexes that have failed, if the Job has a back-off limit per index.
    pub(super) failed_indexes: Option<Indexes>,
    /// The failed pod of each index that the next pod of the index takes its counts from.
    pub(super) kept: HashMap<i64, Arc<Item>>,
    pub(super) backoff: Backoff,
}

/// Whether a pod has a list of UIDs in the status.
fn notes(list: &[Value], pod: &Item) -> bool {
    list.iter().any(|uid| *uid == pod.meta.uid.as_str())
}

impl Job<'_> {
    pub(super) fn status(&mut self) -> &mut Map<String, Value> {
        let status = &mut self.object["status"];
        if !status.is_object() {
            *status = json!({});
        }
        status.as_object_mut().expect("it was just made an object")
    }

    pub(super) fn is_suspended(&self) -> bool {
        flag(&self.object, "/spec/suspend")
    }

    pub(super) fn is_indexed(&self) -> bool {
        text(&self.object, "/spec/completionMode") == "Indexed"
    }

    pub(super) fn is_deleting(&self) -> bool {
        !self.object["metadata"]["deletionTimestamp"].is_null()
    }

    pub(super) fn completions(&self) -> Option<i64> {
        self.object["spec"]["completions"].as_i64()
    }

    pub(super) fn limit_per_index(&self) -> Option<i64> {
        self.object["spec"]["backoffLimitPerIndex"].as_i64()
    }

    /// Whether a pod that is being deleted is replaced only when it has finished.
    pub(super) fn replaces_finished_only(&self) -> bool {
        text(&self.object, "/spec/podReplacementPolicy") == "Failed"
    }

    /// Whether a pod has failed: one that is being deleted may never come to its end.
    pub(super) fn has_failed(&self, pod: &Item) -> bool {
        match pod.pod.phase.as_str() {
            "Failed" => true,
            "Succeeded" => false,
            _ => pod.is_deleting() && !self.replaces_finished_only(),
        }
    }

    /// The index of a pod, if it is one of those that the Job has.
    pub(super) fn index(&self, pod: &Item) -> Option<i64> {
        indexes::of(pod).filter(|index| *index < self.completions().unwrap_or_default())
    }

    /// The UIDs of pods that have ended and are not counted yet.
    pub(super) fn uncounted(&self, name: &str) -> &[Value] {
        list(
            &self.object,
            &format!("/status/uncountedTerminatedPods/{name}"),
        )
    }

    /// Pods that the status does not know of yet and that are so.
    pub(super) fn new_pods(&self, noted: &str, are: impl Fn(&Item) -> bool) -> Vec<Arc<Item>> {
        let uncounted = self.uncounted(noted);
        let new = self.pods.iter().filter(|pod| {
            pod.has_finalizer(FINALIZER)
                && !notes(uncounted, pod)
                && (!self.is_indexed() || self.index(pod).is_some())
                && are(pod)
        });
        new.cloned().collect()
    }

    /// Whether the failure of a pod counts.
    pub(super) fn counts(&self, pod: &Item) -> bool {
        failure_policy::action(&self.object, pod) != Some(failure_policy::Action::Ignore)
    }

    /// Whether no other pod of an index of a failed pod is tried.
    pub(super) fn index_has_failed(&self, pod: &Item, limit: i64) -> bool {
        if !self.has_failed(pod) {
            return false;
        }
        match failure_policy::action(&self.object, pod) {
            Some(failure_policy::Action::FailIndex) => true,
            Some(failure_policy::Action::Ignore) => false,
            _ => indexes::failures(pod).0 >= limit,
        }
    }

    pub(super) fn number(&self, pointer: &str) -> i64 {
        number(&self.object, pointer)
    }

    pub(super) async fn write_status(&mut self) -> Result<(), Failure> {
        if self.object["status"] == self.stored {
            return Ok(());
        }
        let client = &self.cx.client;
        self.object = client.update_status(WHO, &JOBS, &self.object).await?;
        self.stored = self.object["status"].clone();
        Ok(())
    }
}
