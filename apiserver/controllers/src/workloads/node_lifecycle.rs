//! The node lifecycle: taints that follow from the conditions of a node, and pods of a node that is silent.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::super::client::{Failure, NODES, PODS, Who};
use super::super::graph::{Change, Graph};
use super::super::object::{Item, flag, list, map, text};
use super::super::queue::Next;
use super::super::work::{Context, Controller, Key, Keys, Outcome};
use super::status::{condition, put_condition};

/// The node lifecycle controller.
#[derive(Debug)]
pub(crate) struct NodeLifecycle;

const WHO: Who<'static> = Who::Controller("node-controller");

/// Conditions that are trouble while they are `True`, with the taints that follow from them.
const TROUBLE: [(&str, &str); 4] = [
    ("MemoryPressure", "memory-pressure"),
    ("DiskPressure", "disk-pressure"),
    ("PIDPressure", "pid-pressure"),
    ("NetworkUnavailable", "network-unavailable"),
];

impl Controller for NodeLifecycle {
    fn concerns(&self, change: &Change, _: &Graph, keys: &mut Keys<'_>) {
        if change.is_in("nodes") {
            change.after.iter().for_each(|item| keys.add(item));
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            match cx.item(key) {
                Some(node) if !node.is_deleting() => look(cx, &node).await,
                _ => Ok(Next::Done),
            }
        }
        .boxed()
    }
}

/// The status of the condition `Ready` of a node; empty if it has none.
pub(super) fn readiness(node: &Value) -> String {
    let status = map(node, "/status");
    let ready = condition(&status, "Ready");
    ready.map_or("", |ready| text(ready, "/status")).to_owned()
}

async fn look(cx: &Context, node: &Item) -> Outcome {
    let object = node.object.value();
    let readiness = readiness(&object);
    if readiness.is_empty() {
        // It has not reported yet: the taint with which it was registered stays.
        return Ok(Next::Done);
    }
    let taints = list(&object, "/spec/taints");
    let wanted = taints_of(cx, &object, &readiness);
    if taints != wanted {
        let patch = json!({"metadata": {"uid": node.meta.uid}, "spec": {"taints": wanted}});
        let path = NODES.path("", node.name());
        match cx.client.merge(WHO, &path, &patch).await {
            Err(failure) if !failure.is_not_found() => return Err(failure),
            _ => {}
        }
    }
    if readiness != "True" {
        for pod in cx.look(|graph| graph.list("pods", "")) {
            if pod.pod.node == node.name() && pod.pod.ready {
                mark_unready(cx, &pod).await?;
            }
        }
    }
    Ok(Next::Done)
}

/// The taints of a node: those of others stay, those of its conditions follow these.
fn taints_of(cx: &Context, node: &Value, readiness: &str) -> Vec<Value> {
    const PREFIX: &str = "node.kubernetes.io/";
    let status = map(node, "/status");
    let mut own: Vec<(&str, &str)> = TROUBLE
        .into_iter()
        .filter(|(what, _)| condition(&status, what).is_some_and(|it| it["status"] == "True"))
        .map(|(_, taint)| (taint, "NoSchedule"))
        .collect();
    if flag(node, "/spec/unschedulable") {
        own.push(("unschedulable", "NoSchedule"));
    }
    match readiness {
        "False" => own.extend([("not-ready", "NoSchedule"), ("not-ready", "NoExecute")]),
        "Unknown" => own.extend([("unreachable", "NoSchedule"), ("unreachable", "NoExecute")]),
        _ => {}
    }
    let is_ours = |taint: &Value| {
        let key = text(taint, "/key").strip_prefix(PREFIX);
        key.is_some_and(|key| {
            matches!(key, "unschedulable" | "not-ready" | "unreachable")
                || TROUBLE.iter().any(|(_, taint)| *taint == key)
        })
    };
    let follows = |taint: &Value| {
        own.iter().any(|(key, effect)| {
            text(taint, "/key").strip_prefix(PREFIX) == Some(key) && taint["effect"] == *effect
        })
    };
    let known = list(node, "/spec/taints");
    let mut taints: Vec<Value> = known
        .iter()
        .filter(|taint| !is_ours(taint) || follows(taint))
        .cloned()
        .collect();
    for (key, effect) in own {
        let key = format!("{PREFIX}{key}");
        let there = |taint: &Value| taint["key"] == key.as_str() && taint["effect"] == effect;
        if !taints.iter().any(there) {
            let mut taint = json!({"key": key, "effect": effect});
            if effect == "NoExecute" {
                taint["timeAdded"] = cx.clock.text().into();
            }
            taints.push(taint);
        }
    }
    taints
}

async fn mark_unready(cx: &Context, pod: &Item) -> Result<(), Failure> {
    let mut object = pod.object.value();
    let mut status = map(&object, "/status");
    let Some(ready) = condition(&status, "Ready") else {
        return Ok(());
    };
    let mut ready = ready.clone();
    ready["status"] = "False".into();
    ready["lastTransitionTime"] = cx.clock.text().into();
    put_condition(&mut status, ready);
    object["status"] = Value::Object(status);
    match cx.client.update_status(WHO, &PODS, &object).await {
        Err(failure) if !failure.is_not_found() => Err(failure),
        _ => Ok(()),
    }
}
