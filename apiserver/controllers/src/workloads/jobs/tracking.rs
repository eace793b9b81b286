//! Each pod that has ended is counted once: it is noted, loses its finalizer, and is then counted.

use std::collections::HashSet;
use std::sync::Arc;

use futures::future::join_all;
use serde_json::{Value, json};

use super::super::super::client::{Failure, PODS};
use super::super::super::object::Item;
use super::super::super::queue::Next;
use super::super::super::recorder::Kind;
use super::super::super::work::{Context, Outcome};
use super::super::status::set_count;
use super::indexes;
use super::job::{FINALIZER, Job, NAME, WHO};
use super::outcome;

/// The most pods that are noted at once, so that the status stays small.
const MOST: usize = 500;

impl Job<'_> {
    /// Notes pods that have ended, writes the status, removes their finalizers, and counts them.
    pub(super) async fn track(&mut self) -> Result<(), Failure> {
        let mut held: HashSet<String> = self
            .pods
            .iter()
            .filter(|pod| pod.has_finalizer(FINALIZER))
            .map(|pod| pod.meta.uid.clone())
            .collect();
        self.count(&held);
        let (let_go, all) = self.note();
        self.conclude_interim();
        self.write_status().await?;
        let removed = let_go.iter().map(|pod| remove_finalizer(self.cx, pod));
        let removed = join_all(removed).await;
        let mut failure = None;
        for (pod, outcome) in let_go.iter().zip(removed) {
            match outcome {
                Ok(()) => {
                    held.remove(&pod.meta.uid);
                }
                Err(error) => failure = Some(error),
            }
        }
        self.count(&held);
        let finished = failure.is_none() && all && self.conclude();
        self.write_status().await?;
        if let (true, Some(decision)) = (finished, &self.decision) {
            let (kind, reason, message) = if decision.succeeds {
                (Kind::Normal, "Completed", "Job completed")
            } else {
                (
                    Kind::Warning,
                    decision.reason.as_str(),
                    decision.message.as_str(),
                )
            };
            let completions = self.completions();
            if decision.succeeds
                && completions.is_some_and(|all| self.number("/status/succeeded") > all)
            {
                let message = "Too many succeeded pods running after completion count reached";
                let reason = "TooManySucceededPods";
                self.cx
                    .tell(NAME, &self.object, Kind::Warning, reason, message)
                    .await;
            }
            self.cx
                .tell(NAME, &self.object, kind, reason, message)
                .await;
        }
        failure.map_or(Ok(()), Err)
    }

    /// Counts noted pods that have lost their finalizers.
    fn count(&mut self, held: &HashSet<String>) {
        for name in ["succeeded", "failed"] {
            let is_held = |uid: &&Value| uid.as_str().is_some_and(|uid| held.contains(uid));
            let noted = self.uncounted(name);
            let still: Vec<Value> = noted.iter().filter(is_held).cloned().collect();
            let counted = i64::try_from(noted.len() - still.len()).unwrap_or_default();
            let number = self.number(&format!("/status/{name}")) + counted;
            let status = self.status();
            set_count(status, name, number);
            set_noted(status, name, still);
        }
    }

    /// Notes pods that have ended. Returns those that lose their finalizers, and whether none is left for later.
    fn note(&mut self) -> (Vec<Arc<Item>>, bool) {
        let mut succeeded = self.uncounted("succeeded").to_vec();
        let mut failed = self.uncounted("failed").to_vec();
        let mut let_go = Vec::new();
        let mut new_indexes = 0;
        let mut all = true;
        let mut done = self.known_indexes.clone();
        let mut pods = self.pods.clone();
        if self.is_indexed() {
            pods.sort_by_key(|pod| indexes::of(pod));
        }
        for pod in pods.iter().filter(|pod| pod.has_finalizer(FINALIZER)) {
            let has_failed = self.has_failed(pod);
            let has_succeeded = pod.pod.phase == "Succeeded";
            let over = self.is_deleting() || self.decision.is_some();
            let kept = || {
                let of_index = self.index(pod).and_then(|index| self.kept.get(&index));
                of_index.is_some_and(|kept| kept.meta.uid == pod.meta.uid)
            };
            if !(over || has_succeeded || (has_failed && !kept())) {
                continue;
            }
            let_go.push(pod.clone());
            let uid = Value::from(pod.meta.uid.as_str());
            if has_succeeded && !failed.contains(&uid) {
                if self.is_indexed() {
                    if let Some(index) = self.index(pod)
                        && done.insert(index)
                    {
                        new_indexes += 1;
                    }
                } else if !succeeded.contains(&uid) {
                    succeeded.push(uid);
                }
            } else {
                // A pod of a failed Job that was still running has failed with it.
                let counts = has_failed
                    || self
                        .decision
                        .as_ref()
                        .is_some_and(|decision| !decision.succeeds);
                let of_job = !self.is_indexed() || self.index(pod).is_some();
                if counts && of_job && !failed.contains(&uid) && self.counts(pod) {
                    failed.push(uid);
                }
            }
            if new_indexes + succeeded.len() + failed.len() >= MOST {
                all = false;
                break;
            }
        }
        let (of_job, failed_indexes) = (self.is_indexed(), self.failed_indexes.clone());
        let status = self.status();
        set_noted(status, "succeeded", succeeded);
        set_noted(status, "failed", failed);
        if of_job {
            set_count(status, "succeeded", indexes::len(&done));
            let text = indexes::written(&done);
            if text.is_empty() {
                status.remove("completedIndexes");
            } else {
                status.insert("completedIndexes".to_owned(), text.into());
            }
            if let Some(failed) = failed_indexes {
                status.insert("failedIndexes".to_owned(), indexes::written(&failed).into());
            }
        }
        (let_go, all)
    }

    /// Says what is decided while pods still have to end.
    fn conclude_interim(&mut self) {
        let Some(decision) = self.decision.clone() else {
            return;
        };
        let clock = &self.cx.clock;
        let condition = ("True", decision.reason.as_str(), decision.message.as_str());
        outcome::put(clock, self.status(), decision.interim(), condition);
    }

    /// Says that the Job is over, once all its pods have ended and are counted; returns whether it is.
    fn conclude(&mut self) -> bool {
        let Some(decision) = self.decision.clone() else {
            return false;
        };
        let uncounted = self.uncounted("succeeded").len() + self.uncounted("failed").len();
        if uncounted > 0 || self.terminating > 0 {
            return false;
        }
        let clock = &self.cx.clock;
        let condition = ("True", decision.reason.as_str(), decision.message.as_str());
        outcome::put(clock, self.status(), decision.last(), condition);
        if decision.succeeds {
            self.status()
                .insert("completionTime".to_owned(), clock.text().into());
        }
        true
    }
}

fn set_noted(status: &mut serde_json::Map<String, Value>, name: &str, uids: Vec<Value>) {
    let noted = status
        .entry("uncountedTerminatedPods")
        .or_insert_with(|| json!({}));
    if uids.is_empty() {
        noted.as_object_mut().map(|noted| noted.remove(name));
    } else {
        noted[name] = uids.into();
    }
}

/// Lets all pods of a Job go that is over.
pub(super) async fn release(cx: &Context, job: &Item) -> Outcome {
    for pod in cx.look(|graph| graph.controlled(&job.meta.uid, "pods")) {
        if pod.has_finalizer(FINALIZER) {
            remove_finalizer(cx, &pod).await?;
        }
    }
    Ok(Next::Done)
}

pub(super) async fn remove_finalizer(cx: &Context, pod: &Item) -> Result<(), Failure> {
    let mut finalizers = pod.meta.finalizers.clone();
    finalizers.retain(|name| name != FINALIZER);
    let patch = json!({"metadata": {"uid": pod.meta.uid, "finalizers": finalizers}});
    let path = PODS.path(pod.namespace(), pod.name());
    match cx.client.merge(WHO, &path, &patch).await {
        Err(failure) if !failure.is_not_found() => Err(failure),
        _ => Ok(()),
    }
}
