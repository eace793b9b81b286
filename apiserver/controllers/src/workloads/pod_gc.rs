//! Pod garbage collection: pods of nodes that are gone, and pods that end without ever having had a node.

use std::collections::HashMap;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::{Duration, Instant};

use super::super::client::{PODS, Who};
use super::super::graph::{Change, Graph};
use super::super::object::{Item, map};
use super::super::queue::Next;
use super::super::work::{Context, Controller, Key, Keys, Outcome};
use super::status::put_condition;

/// The pod garbage collector.
#[derive(Debug, Default)]
pub(crate) struct PodGarbageCollector {
    /// Since when each node that pods name is missing.
    missing: Mutex<HashMap<String, Instant>>,
}

const WHO: Who<'static> = Who::Controller("pod-garbage-collector");

impl Controller for PodGarbageCollector {
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        if let (true, Some(gone), None) = (change.is_in("nodes"), &change.before, &change.after) {
            for pod in graph.list("pods", "") {
                if pod.pod.node == gone.name() {
                    keys.add(&pod);
                }
            }
        }
        if let (true, Some(pod)) = (change.is_in("pods"), &change.after)
            && (is_orphan(pod, graph) || ends_unscheduled(pod))
        {
            keys.add(pod);
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            let Some(pod) = cx.item(key) else {
                return Ok(Next::Done);
            };
            if ends_unscheduled(&pod) {
                return remove(cx, &pod, false).await;
            }
            if !cx.look(|graph| is_orphan(&pod, graph)) {
                self.missing.lock().remove(&pod.pod.node);
                return Ok(Next::Done);
            }
            let left = self.left(&pod.pod.node);
            if !left.is_zero() {
                return Ok(Next::After(left));
            }
            remove(cx, &pod, true).await
        }
        .boxed()
    }
}

impl PodGarbageCollector {
    /// The time until the pods of a missing node are deleted.
    fn left(&self, node: &str) -> Duration {
        let now = Instant::now();
        let mut missing = self.missing.lock();
        let since = *missing.entry(node.to_owned()).or_insert(now);
        QUARANTINE.saturating_sub(now.duration_since(since))
    }
}

/// How long a node may be missing until its pods are deleted.
const QUARANTINE: Duration = Duration::from_secs(40);

fn is_orphan(pod: &Item, graph: &Graph) -> bool {
    !pod.pod.node.is_empty() && graph.get("nodes", &pod.pod.node).is_none()
}

/// Whether a pod is being deleted that no kubelet knows of.
fn ends_unscheduled(pod: &Item) -> bool {
    pod.is_deleting() && pod.pod.node.is_empty() && !pod.has_finished()
}

async fn remove(cx: &Context, pod: &Item, orphan: bool) -> Outcome {
    if !pod.has_finished() {
        let mut status = map(&pod.object.value(), "/status");
        status.insert("phase".to_owned(), "Failed".into());
        if orphan {
            put_condition(
                &mut status,
                json!({
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "DeletionByPodGC",
                    "message": "PodGC: node no longer exists",
                    "lastTransitionTime": cx.clock.text(),
                }),
            );
        }
        let patch = json!({"metadata": {"uid": pod.meta.uid}, "status": status});
        let path = format!("{}/status", PODS.path(pod.namespace(), pod.name()));
        match cx.client.merge(WHO, &path, &patch).await {
            Err(failure) if failure.is_not_found() => return Ok(Next::Done),
            outcome => outcome?,
        };
    }
    if pod.is_deleting() && pod.meta.deletion_grace_period_seconds == Some(0) {
        return Ok(Next::Done);
    }
    let path = PODS.path(pod.namespace(), pod.name());
    let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": pod.meta.uid}});
    cx.client.delete(WHO, &path, &options).await?;
    Ok(Next::Done)
}
