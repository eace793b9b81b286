//! The scheduler: gives a pod to a node that it may run on, the one with the fewest pods. Resources are not looked at.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::super::client::{PODS, Who};
use super::super::graph::{Change, Graph};
use super::super::object::{Item, flag, list, map, text};
use super::super::queue::Next;
use super::super::work::{Context, Controller, Key, Keys, Outcome};
use super::affinity;
use super::status::{condition, put_condition};

/// The scheduler.
#[derive(Debug, Default)]
pub(crate) struct Scheduler {
    /// Pods that have no node.
    waiting: Mutex<BTreeSet<(Arc<str>, String)>>,
    /// How many pods each node has.
    taken: Mutex<HashMap<String, usize>>,
}

impl Controller for Scheduler {
    fn concerns(&self, change: &Change, _: &Graph, keys: &mut Keys<'_>) {
        if change.is_in("nodes") {
            for (table, path) in self.waiting.lock().iter() {
                keys.add_path(table, path.clone());
            }
            return;
        }
        if !change.is_in("pods") {
            return;
        }
        let mut waiting = self.waiting.lock();
        let mut taken = self.taken.lock();
        if let Some(pod) = &change.before {
            waiting.remove(&(pod.table.clone(), pod.object.path.clone()));
            if let Some(taken) = taken.get_mut(&pod.pod.node) {
                *taken = taken.saturating_sub(1);
            }
        }
        if let Some(pod) = &change.after {
            if !pod.pod.node.is_empty() {
                *taken.entry(pod.pod.node.clone()).or_default() += 1;
            } else if pod.is_active_pod() {
                waiting.insert((pod.table.clone(), pod.object.path.clone()));
                keys.add(pod);
            }
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            match cx.item(key) {
                Some(pod) if pod.pod.node.is_empty() && pod.is_active_pod() => {
                    self.schedule(cx, &pod).await
                }
                _ => Ok(Next::Done),
            }
        }
        .boxed()
    }
}

impl Scheduler {
    async fn schedule(&self, cx: &Context, pod: &Item) -> Outcome {
        let object = pod.object.value();
        let scheduler = text(&object, "/spec/schedulerName");
        if scheduler != "default-scheduler" || !list(&object, "/spec/schedulingGates").is_empty() {
            return Ok(Next::Done);
        }
        let nodes = cx.look(|graph| graph.list("nodes", ""));
        let chosen = {
            let taken = self.taken.lock();
            nodes
                .iter()
                .filter(|node| takes(&node.object.value(), &object))
                .min_by_key(|node| taken.get(node.name()).copied().unwrap_or_default())
        };
        let path = PODS.path(pod.namespace(), pod.name());
        let Some(node) = chosen else {
            return refuse(cx, object, nodes.len()).await;
        };
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {
                "name": pod.name(),
                "namespace": pod.namespace(),
                "uid": pod.meta.uid,
            },
            "target": {"kind": "Node", "name": node.name()},
        });
        let path = format!("{path}/binding");
        match cx.client.post(Who::Scheduler, &path, &binding).await {
            Err(failure) if !failure.is_not_found() => Err(failure),
            _ => Ok(Next::Done),
        }
    }
}

/// Says in the pod that no node takes it; a node that changes brings it here again.
async fn refuse(cx: &Context, mut pod: Value, nodes: usize) -> Outcome {
    let message = if nodes == 0 {
        "no nodes available to schedule pods".to_owned()
    } else {
        format!(
            "0/{nodes} nodes are available: {nodes} node(s) didn't match the pod's node affinity, selector or tolerations."
        )
    };
    let mut status = map(&pod, "/status");
    let known = condition(&status, "PodScheduled");
    if known.is_some_and(|known| known["message"] == message.as_str()) {
        return Ok(Next::Done);
    }
    put_condition(
        &mut status,
        json!({
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": cx.clock.text(),
        }),
    );
    pod["status"] = Value::Object(status);
    cx.client.update_status(Who::Scheduler, &PODS, &pod).await?;
    Ok(Next::Done)
}

/// Whether a node takes a pod.
fn takes(node: &Value, pod: &Value) -> bool {
    let tolerations = list(pod, "/spec/tolerations");
    let closed = flag(node, "/spec/unschedulable");
    (!closed || affinity::tolerates_closed(tolerations))
        && affinity::matches(node, &pod["spec"])
        && affinity::tolerates(node, tolerations)
}
