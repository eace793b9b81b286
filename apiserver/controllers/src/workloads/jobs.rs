//! Jobs: pods that come to an end, until enough of them have succeeded or too many have failed.

mod indexes;
mod job;
mod outcome;
mod tracking;

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::time::Duration;

use super::super::client::{Failure, JOBS, PODS, Who};
use super::super::graph::{Change, Graph};
use super::super::object::{Item, flag, list, map, number, pod_of, text};
use super::super::queue::Next;
use super::super::work::{Context, Controller, Key, Keys, Outcome};
use super::status::{condition, count, set_count};
use super::{claims, pod_control};
use job::{Job, NAME, WHO};
use outcome::Verdict;
use tracking::FINALIZER;

/// The Job controller.
#[derive(Debug)]
pub(crate) struct Jobs;

const TABLE: &str = "jobs.batch";

impl Controller for Jobs {
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        if change.is_in(TABLE) {
            change.after.iter().for_each(|item| keys.add(item));
        } else if change.is_in("pods") {
            for pod in [&change.before, &change.after].into_iter().flatten() {
                keys.add_controller_of(pod, graph, TABLE);
            }
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            match cx.item(key) {
                Some(item) if !item.is_deleting() => reconcile(cx, &item).await,
                Some(item) => tracking::release(cx, &item).await,
                None => Ok(Next::Done),
            }
        }
        .boxed()
    }
}

async fn reconcile(cx: &Context, item: &Item) -> Outcome {
    const OURS: &str = "kubernetes.io/job-controller";
    let object = item.object.value();
    if !matches!(text(&object, "/spec/managedBy"), "" | OURS) {
        return Ok(Next::Done);
    }
    let status = map(&object, "/status");
    if outcome::is_finished(&status) {
        tracking::release(cx, item).await?;
        return forget(cx, &object).await;
    }
    let pods = claims::claim(cx, WHO, &object, (&PODS, "pods"), |_| true).await?;
    let mut job = Job {
        cx,
        before: object.clone(),
        object,
        pods,
    };
    job.settle().await
}

/// Deletes a finished Job when its time is over.
async fn forget(cx: &Context, job: &Value) -> Outcome {
    let Some(seconds) = job["spec"]["ttlSecondsAfterFinished"].as_i64() else {
        return Ok(Next::Done);
    };
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
    fn status(&mut self) -> &mut Map<String, Value> {
        let status = &mut self.object["status"];
        if !status.is_object() {
            *status = json!({});
        }
        status.as_object_mut().expect("it was just made an object")
    }

    fn is_suspended(&self) -> bool {
        flag(&self.object, "/spec/suspend")
    }

    fn active(&self) -> Vec<Arc<Item>> {
        let active = self.pods.iter().filter(|pod| pod.is_active_pod());
        active.cloned().collect()
    }

    fn is_indexed(&self) -> bool {
        text(&self.object, "/spec/completionMode") == "Indexed"
    }

    /// How many pods have succeeded and failed, counted ones and others.
    fn ended(&self) -> (i64, i64) {
        let sum = |name: &str| {
            let counted = number(&self.object, &format!("/status/{name}"));
            let pointer = format!("/status/uncountedTerminatedPods/{name}");
            counted + count(list(&self.object, &pointer), |_| true)
        };
        let succeeded = if self.is_indexed() {
            indexes::len(&self.succeeded_indexes())
        } else {
            sum("succeeded")
        };
        (succeeded, sum("failed"))
    }

    fn succeeded_indexes(&self) -> Vec<i64> {
        let known = text(&self.object, "/status/completedIndexes");
        let new = self.pods.iter().filter(|pod| pod.pod.phase == "Succeeded");
        indexes::merged(known, new.filter_map(|pod| indexes::of(pod)))
    }

    async fn settle(&mut self) -> Outcome {
        let now = self.cx.clock.text();
        if !self.is_suspended() && self.object["status"]["startTime"].is_null() {
            self.status().insert("startTime".to_owned(), now.into());
        }
        self.note_suspension();
        let released = self.track();
        let verdict = self.verdict();
        let active = self.active();
        let mut surplus: Vec<Arc<Item>> = Vec::new();
        let mut missing = Vec::new();
        let mut wait = None;
        if verdict != Verdict::Open || self.is_suspended() {
            surplus.clone_from(&active);
        } else if self.is_indexed() {
            (missing, surplus) = self.missing_indexes(&active);
        } else {
            let wanted = usize::try_from(self.wanted(&active)).unwrap_or_default();
            surplus.extend(active.iter().skip(wanted).cloned());
            missing = vec![None; wanted.saturating_sub(active.len())];
        }
        if !missing.is_empty() {
            wait = self.backoff();
        }
        self.count(&active);
        self.conclude(&verdict);
        self.write_status().await?;
        for pod in released {
            tracking::remove_finalizer(self.cx, &pod).await?;
        }
        for pod in surplus {
            pod_control::delete(self.cx, NAME, &self.object, &pod).await?;
        }
        let deadline = self.deadline();
        if let Some(wait) = wait {
            return Ok(Next::After(deadline.map_or(wait, |left| left.min(wait))));
        }
        let pods: Vec<Value> = missing.iter().map(|index| self.pod(*index)).collect();
        pod_control::create_many(self.cx, NAME, &self.object, &pods).await?;
        Ok(deadline.map_or(Next::Done, Next::After))
    }

    /// How many pods shall run.
    fn wanted(&self, active: &[Arc<Item>]) -> i64 {
        let parallelism = number(&self.object, "/spec/parallelism");
        let (succeeded, _) = self.ended();
        match self.object["spec"]["completions"].as_i64() {
            Some(completions) => parallelism.min((completions - succeeded).max(0)),
            // Pods of a work queue are not replaced once one has found it empty.
            None if succeeded > 0 => parallelism.min(count(active, |_| true)),
            None => parallelism,
        }
    }

    /// The indexes that need a pod, and the pods that are too many.
    fn missing_indexes(&self, active: &[Arc<Item>]) -> (Vec<Option<i64>>, Vec<Arc<Item>>) {
        let completions = number(&self.object, "/spec/completions");
        let parallelism = number(&self.object, "/spec/parallelism");
        let parallelism = usize::try_from(parallelism).unwrap_or_default();
        let done = self.succeeded_indexes();
        let mut taken: Vec<i64> = Vec::new();
        let mut surplus = Vec::new();
        for pod in active {
            match indexes::of(pod) {
                Some(index)
                    if !taken.contains(&index)
                        && !done.contains(&index)
                        && taken.len() < parallelism =>
                {
                    taken.push(index);
                }
                _ => surplus.push(pod.clone()),
            }
        }
        let free = (0..completions).filter(|index| !taken.contains(index) && !done.contains(index));
        let missing = free.take(parallelism - taken.len()).map(Some).collect();
        (missing, surplus)
    }

    /// The time until another pod is made after one has failed.
    fn backoff(&self) -> Option<Duration> {
        const FIRST: i64 = 10;
        const LONGEST: i64 = 600;
        let failed = self.pods.iter().filter(|pod| pod.pod.phase == "Failed");
        let failed: Vec<&Arc<Item>> = failed.collect();
        let exponent = u32::try_from(failed.len().checked_sub(1)?).ok()?;
        let wait = FIRST.saturating_mul(2_i64.saturating_pow(exponent));
        let last = failed.iter().map(|pod| tracking::finished_at(pod)).max()?;
        let left = self.cx.clock.until(&last, wait.min(LONGEST));
        (!left.is_zero()).then_some(left)
    }

    fn count(&mut self, active: &[Arc<Item>]) {
        let ready = count(active, |pod| pod.pod.ready);
        let ending = count(&self.pods, |pod| pod.is_deleting() && !pod.has_finished());
        let active = count(active, |_| true);
        let status = self.status();
        set_count(status, "active", active);
        status.insert("ready".to_owned(), ready.into());
        status.insert("terminating".to_owned(), ending.into());
    }

    fn note_suspension(&mut self) {
        let suspended = self.is_suspended();
        let clock = &self.cx.clock;
        let known = condition(self.status(), "Suspended");
        let was = known.is_some_and(|known| known["status"] == "True");
        if suspended == was {
            return;
        }
        let (is, reason, message) = if suspended {
            ("True", "JobSuspended", "Job suspended")
        } else {
            ("False", "JobResumed", "Job resumed")
        };
        outcome::put(clock, self.status(), "Suspended", (is, reason, message));
        if suspended {
            self.status().remove("startTime");
        } else {
            let now = clock.text();
            self.status().insert("startTime".to_owned(), now.into());
        }
    }

    async fn write_status(&mut self) -> Result<(), Failure> {
        if self.object["status"] == self.before["status"] {
            return Ok(());
        }
        let changed = self
            .cx
            .client
            .update_status(WHO, &JOBS, &self.object)
            .await?;
        self.object = changed;
        Ok(())
    }

    fn pod(&self, index: Option<i64>) -> Value {
        let mut pod = pod_of(&self.object["spec"]["template"], &self.object);
        let mut finalizers = list(&pod, "/metadata/finalizers").to_vec();
        finalizers.push(FINALIZER.into());
        pod["metadata"]["finalizers"] = finalizers.into();
        if let Some(index) = index {
            indexes::mark(&mut pod, text(&self.object, "/metadata/name"), index);
        }
        pod
    }
}
