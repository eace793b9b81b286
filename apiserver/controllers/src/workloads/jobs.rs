//! Jobs: pods that come to an end, until enough of them have succeeded or too many have failed.

mod backoff;
mod decision;
mod failure_policy;
mod indexes;
mod job;
mod outcome;
mod pods;
mod tracking;

use std::collections::HashMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::super::client::{Failure, JOBS, PODS, Who};
use super::super::graph::{Change, Graph};
use super::super::object::{Item, map, text};
use super::super::queue::Next;
use super::super::recorder::Kind;
use super::super::work::{Context, Controller, Key, Keys, Outcome};
use super::claims;
use super::status::{count, set_count};
use backoff::Backoff;
use decision::Decision;
use indexes::Indexes;
use job::{FINALIZER, Job, NAME, WHO};

/// The Job controller.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    /// By the UID of the Job.
    backoffs: Mutex<HashMap<String, Backoff>>,
}

pub(super) const TABLE: &str = "jobs.batch";

impl Controller for Jobs {
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        if change.is_in(TABLE) {
            change.after.iter().for_each(|item| keys.add(item));
            if let (Some(gone), None) = (&change.before, &change.after) {
                self.backoffs.lock().remove(&gone.meta.uid);
                for pod in graph.controlled(&gone.meta.uid, "pods") {
                    keys.add(&pod);
                }
            }
            return;
        }
        if !change.is_in("pods") {
            return;
        }
        for pod in [&change.before, &change.after].into_iter().flatten() {
            keys.add_controller_of(pod, graph, TABLE);
        }
        let Some(pod) = &change.after else {
            return;
        };
        if pod.controller().is_none() {
            // It may be adopted.
            for job in graph.list(TABLE, pod.namespace()) {
                keys.add(&job);
            }
        }
        if pod.has_finalizer(FINALIZER) && is_orphan(pod, graph) {
            keys.add(pod);
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            let Some(item) = cx.item(key) else {
                return Ok(Next::Done);
            };
            if &*item.table == TABLE {
                return self.sync(cx, &item).await;
            }
            let orphan = cx.look(|graph| is_orphan(&item, graph));
            if orphan && item.has_finalizer(FINALIZER) {
                tracking::remove_finalizer(cx, &item).await?;
            }
            Ok(Next::Done)
        }
        .boxed()
    }
}

/// Whether no Job counts a pod any more.
fn is_orphan(pod: &Item, graph: &Graph) -> bool {
    match pod.controller() {
        None => true,
        Some(owner) => owner.kind == "Job" && graph.by_uid(&owner.uid).is_none(),
    }
}

impl Jobs {
    async fn sync(&self, cx: &Context, item: &Item) -> Outcome {
        const OURS: &str = "kubernetes.io/job-controller";
        let object = item.object.value();
        if !matches!(text(&object, "/spec/managedBy"), "" | OURS) {
            return Ok(Next::Done);
        }
        if outcome::is_finished(&map(&object, "/status")) {
            self.backoffs.lock().remove(&item.meta.uid);
            tracking::release(cx, item).await?;
            return forget(cx, &object).await;
        }
        let claimed = (&PODS, "pods");
        let pods = claims::claim_with(cx, WHO, &object, claimed, Some(FINALIZER), |_| true).await?;
        let mut job = Job {
            cx,
            stored: object["status"].clone(),
            object,
            active: Vec::new(),
            terminating: count(&pods, |pod| pod.is_deleting() && !pod.has_finished()),
            pods,
            decision: None,
            ready: 0,
            succeeded: 0,
            failed: 0,
            succeeded_indexes: Indexes::new(),
            known_indexes: Indexes::new(),
            failed_indexes: None,
            kept: HashMap::new(),
            backoff: Backoff::default(),
        };
        let known = self.backoffs.lock().get(&item.meta.uid).cloned();
        job.backoff = known.unwrap_or_default();
        job.read();
        self.backoffs
            .lock()
            .insert(item.meta.uid.clone(), job.backoff.clone());
        job.settle().await
    }
}

/// Deletes a finished Job when its time is over.
async fn forget(cx: &Context, job: &Value) -> Outcome {
    let Some(seconds) = job["spec"]["ttlSecondsAfterFinished"].as_i64() else {
        return Ok(Next::Done);
    };
    if !job["metadata"]["deletionTimestamp"].is_null() {
        return Ok(Next::Done);
    }
    let status = map(job, "/status");
    let since = outcome::finished_since(&status);
    let left = cx.clock.until(since, seconds);
    if !left.is_zero() {
        return Ok(Next::After(left));
    }
    let [namespace, name] = ["/metadata/namespace", "/metadata/name"].map(|at| text(job, at));
    let path = JOBS.path(namespace, name);
    let options = json!({
        "propagationPolicy": "Foreground",
        "preconditions": {"uid": text(job, "/metadata/uid")},
    });
    let who = Who::Controller("ttl-after-finished-controller");
    cx.client.delete(who, &path, &options).await?;
    Ok(Next::Done)
}

impl Job<'_> {
    /// Finds out how many pods run, and how many have ended.
    fn read(&mut self) {
        let active = self.pods.iter().filter(|pod| pod.is_active_pod());
        self.active = active.cloned().collect();
        self.ready = count(&self.active, |pod| pod.pod.ready);
        let succeeded = self.new_pods("succeeded", |pod| pod.pod.phase == "Succeeded");
        let failed = self.new_pods("failed", |pod| self.has_failed(pod));
        let counted = count(&failed, |pod| self.counts(pod));
        let [known_succeeded, known_failed] = ["succeeded", "failed"].map(|name| {
            let noted = count(self.uncounted(name), |_| true);
            self.number(&format!("/status/{name}")) + noted
        });
        self.succeeded = known_succeeded + count(&succeeded, |_| true);
        self.failed = known_failed + counted;
        self.backoff.note(&succeeded, &failed);
        if !self.is_suspended() && self.object["status"]["startTime"].is_null() {
            let now = self.cx.clock.text();
            self.status().insert("startTime".to_owned(), now.into());
        }
        if self.is_indexed() {
            self.read_indexes();
        }
    }

    fn read_indexes(&mut self) {
        let completions = self.completions().unwrap_or_default();
        let known = text(&self.object, "/status/completedIndexes");
        self.known_indexes = indexes::read(known, completions);
        self.succeeded_indexes = self.known_indexes.clone();
        let held = self.pods.iter().filter(|pod| pod.has_finalizer(FINALIZER));
        let new: Vec<i64> = held
            .clone()
            .filter(|pod| pod.pod.phase == "Succeeded")
            .filter_map(|pod| self.index(pod))
            .collect();
        let Some(limit) = self.limit_per_index() else {
            self.succeeded_indexes.extend(new);
            self.succeeded = indexes::len(&self.succeeded_indexes);
            return;
        };
        let mut failed = indexes::read(text(&self.object, "/status/failedIndexes"), completions);
        failed.extend(
            held.clone()
                .filter(|pod| self.index_has_failed(pod, limit))
                .filter_map(|pod| self.index(pod)),
        );
        let mut settled = failed.clone();
        settled.extend(&self.succeeded_indexes);
        settled.extend(&new);
        settled.extend(self.active.iter().filter_map(|pod| self.index(pod)));
        let mut kept: HashMap<i64, Arc<Item>> = HashMap::new();
        for pod in held.filter(|pod| self.has_failed(pod)) {
            let Some(index) = self.index(pod).filter(|index| !settled.contains(index)) else {
                continue;
            };
            let age = |pod: &Item| {
                let (counted, ignored) = indexes::failures(pod);
                (counted + ignored, backoff::finished_at(pod))
            };
            let known = kept.get(&index);
            if known.is_none_or(|known| age(known) <= age(pod)) {
                kept.insert(index, pod.clone());
            }
        }
        self.kept = kept;
        self.failed_indexes = Some(failed);
        self.succeeded_indexes.extend(new);
        self.succeeded = indexes::len(&self.succeeded_indexes);
    }

    /// Brings the pods and the status to what they shall be.
    async fn settle(&mut self) -> Outcome {
        self.decision = self.decide();
        let mut next = self.deadline();
        let managed = if self.decision.is_some() {
            let active = self.active.clone();
            self.delete(&active, false).await
        } else if self.is_deleting() {
            Ok(())
        } else {
            match self.manage().await {
                Ok(Some(wait)) => {
                    next = Some(next.map_or(wait, |left| left.min(wait)));
                    Ok(())
                }
                other => other.map(|_| ()),
            }
        };
        if self.decision.is_none() {
            self.complete(managed.is_ok()).await;
        } else if managed.is_err() {
            // Pods are left: the Job is not over.
            self.decision = None;
        }
        let (active, ready, terminating) =
            (count(&self.active, |_| true), self.ready, self.terminating);
        let status = self.status();
        set_count(status, "active", active);
        status.insert("ready".to_owned(), ready.into());
        status.insert("terminating".to_owned(), terminating.into());
        self.track().await?;
        managed?;
        Ok(next.map_or(Next::Done, Next::After))
    }

    /// Decides that the Job is complete, or notes that it is suspended or resumed.
    async fn complete(&mut self, managed: bool) {
        let done = match self.completions() {
            Some(completions) => self.succeeded >= completions,
            // Pods of a work queue are not replaced once one has found it empty.
            None => self.succeeded > 0,
        };
        if done && self.active.is_empty() {
            self.decision = Some(Decision::succeeds(
                "CompletionsReached",
                "Reached expected number of succeeded pods",
            ));
            return;
        }
        if !managed || self.is_deleting() {
            return;
        }
        let (is, reason, event, message) = if self.is_suspended() {
            ("True", "JobSuspended", "Suspended", "Job suspended")
        } else {
            ("False", "JobResumed", "Resumed", "Job resumed")
        };
        let clock = &self.cx.clock;
        if !outcome::put(clock, self.status(), "Suspended", (is, reason, message)) {
            return;
        }
        let status = self.status();
        status.remove("startTime");
        if is == "False" {
            // The time that a Job may take starts again.
            status.insert("startTime".to_owned(), clock.text().into());
        }
        let cx = self.cx;
        cx.tell(NAME, &self.object, Kind::Normal, event, message)
            .await;
    }

    /// Deletes active pods, which are then no longer counted as such.
    async fn delete(&mut self, pods: &[Arc<Item>], let_go: bool) -> Result<(), Failure> {
        let deleted = pods::delete(self.cx, &self.object, pods, let_go).await;
        for (pod, outcome) in pods.iter().zip(&deleted) {
            if outcome.is_ok() {
                self.active.retain(|active| active.meta.uid != pod.meta.uid);
                self.terminating += 1;
                self.ready -= i64::from(pod.pod.ready);
            }
        }
        deleted.into_iter().collect()
    }
}
