//! Each pod that has ended is counted once: it is noted, let go by its finalizer, and then counted.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::super::client::{Failure, PODS};
use super::super::super::object::{Item, list, text};
use super::super::super::queue::Next;
use super::super::super::work::{Context, Outcome};
use super::indexes;
use super::job::{Job, WHO};

/// What keeps a pod until it is counted.
pub(super) const FINALIZER: &str = "batch.kubernetes.io/job-tracking";

impl Job<'_> {
    /// Counts pods that were let go, and notes others that have ended; returns those that can be let go once that is
    /// written.
    pub(super) fn track(&mut self) -> Vec<Arc<Item>> {
        let suspended = self.is_suspended();
        let mut let_go = Vec::new();
        for (name, phase) in [("succeeded", "Succeeded"), ("failed", "Failed")] {
            let pointer = format!("/status/uncountedTerminatedPods/{name}");
            let noted = list(&self.object, &pointer);
            let is_held = |uid: &Value| {
                let pod = self.pods.iter().find(|pod| *uid == pod.meta.uid.as_str());
                pod.is_some_and(|pod| pod.has_finalizer(FINALIZER))
            };
            let (mut held, counted): (Vec<Value>, Vec<Value>) =
                noted.iter().cloned().partition(|uid| is_held(uid));
            let number = self.object["status"][name].as_u64().unwrap_or_default();
            let number = number + counted.len() as u64;
            for pod in &self.pods {
                // One that is deleted before it has ended has failed, unless the Job itself rests.
                let ended = match phase {
                    "Failed" if !pod.has_finished() => pod.is_deleting() && !suspended,
                    phase => pod.pod.phase == phase,
                };
                if !ended || !pod.has_finalizer(FINALIZER) {
                    continue;
                }
                let uid = Value::from(pod.meta.uid.as_str());
                if !held.contains(&uid) {
                    held.push(uid);
                }
                let_go.push(pod.clone());
            }
            let status = self.status();
            if number > 0 {
                status.insert(name.to_owned(), number.into());
            }
            let noted = status
                .entry("uncountedTerminatedPods")
                .or_insert_with(|| json!({}));
            if held.is_empty() {
                noted.as_object_mut().map(|noted| noted.remove(name));
            } else {
                noted[name] = held.into();
            }
        }
        if suspended {
            let resting = self.pods.iter().filter(|pod| pod.is_deleting());
            let_go.extend(resting.filter(|pod| pod.has_finalizer(FINALIZER)).cloned());
        }
        if self.is_indexed() {
            let done = indexes::written(&self.succeeded_indexes());
            if !done.is_empty() {
                self.status()
                    .insert("completedIndexes".to_owned(), done.into());
            }
        }
        let_go
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

/// When the last container of a pod ended.
pub(super) fn finished_at(pod: &Item) -> String {
    let object = pod.object.value();
    let containers = list(&object, "/status/containerStatuses");
    let ends = containers
        .iter()
        .map(|container| text(container, "/state/terminated/finishedAt"));
    let last = ends.max().unwrap_or_default();
    if last.is_empty() {
        pod.meta.creation_timestamp.clone()
    } else {
        last.to_owned()
    }
}
