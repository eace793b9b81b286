//! The scheduler: gives a pod to a node that it may run on, the one with the fewest pods, and makes room for important pods.

mod admission;
mod cluster;
mod facts;
mod filter;
mod preemption;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kubewright_apimachinery::selectors::Labels;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::super::client::{CLAIMS, Failure, PODS, Who};
use super::super::graph::{Change, Graph};
use super::super::object::{Item, list, map, number, text};
use super::super::queue::Next;
use super::super::recorder::{Kind, SCHEDULER};
use super::super::work::{Context, Controller, Key, Keys, Outcome};
use super::affinity;
use super::status::{condition, put_condition};
pub(crate) use cluster::Cluster;
use cluster::{Placed, Wake};
use facts::Node;
use filter::{Candidate, Rejection};
use preemption::{Budget, Victims};

/// The scheduler.
#[derive(Debug)]
pub(crate) struct Scheduler {
    /// Pods that no node has taken, and whether they want to be near others.
    refused: Mutex<BTreeMap<(Arc<str>, String), bool>>,
    cluster: Arc<Mutex<Cluster>>,
}

impl Controller for Scheduler {
    fn concerns(&self, change: &Change, _: &Graph, keys: &mut Keys<'_>) {
        if !["nodes", "pods", "namespaces"]
            .iter()
            .any(|table| change.is_in(table))
        {
            return;
        }
        let wake = self.cluster.lock().follow(change);
        if wake != Wake::None {
            for ((table, path), sociable) in self.refused.lock().iter() {
                if wake == Wake::All || *sociable {
                    keys.add_path(table, path.clone());
                }
            }
        }
        if !change.is_in("pods") {
            return;
        }
        match &change.after {
            Some(pod) if pod.pod.node.is_empty() && pod.is_active_pod() => keys.add(pod),
            _ => {
                if let Some(pod) = change.item() {
                    let place = (pod.table.clone(), pod.object.path.clone());
                    self.refused.lock().remove(&place);
                }
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
    pub(crate) fn new(cluster: Arc<Mutex<Cluster>>) -> Self {
        Self {
            refused: Mutex::default(),
            cluster,
        }
    }

    async fn schedule(&self, cx: &Context, pod: &Arc<Item>) -> Outcome {
        let object = pod.object.value();
        let scheduler = text(&object, "/spec/schedulerName");
        if scheduler != "default-scheduler" || !list(&object, "/spec/schedulingGates").is_empty() {
            return Ok(Next::Done);
        }
        let candidate = Candidate {
            object: &object,
            placed: Placed::new(pod.clone()),
        };
        let node = match self.choose(&candidate) {
            Ok(node) => node,
            Err(rejected) => {
                let place = (pod.table.clone(), pod.object.path.clone());
                self.refused.lock().insert(place, is_sociable(&object));
                let (message, victims) = self.preempt(cx, &candidate, &rejected);
                return refuse(cx, &object, &message, victims).await;
            }
        };
        select_node(cx, pod, &object, &node).await?;
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {
                "name": pod.name(),
                "namespace": pod.namespace(),
                "uid": pod.meta.uid,
            },
            "target": {"kind": "Node", "name": node},
        });
        let path = format!("{}/binding", PODS.path(pod.namespace(), pod.name()));
        match cx.client.post(Who::Scheduler, &path, &binding).await {
            Ok(_) => Ok(Next::Done),
            Err(failure) => {
                self.cluster.lock().remove(&pod.meta.uid);
                if failure.is_not_found() {
                    return Ok(Next::Done);
                }
                Err(failure)
            }
        }
    }

    /// Chooses a node and keeps the place on it, or returns why no node takes the pod.
    fn choose(&self, candidate: &Candidate<'_>) -> Result<String, Vec<(Arc<Node>, Rejection)>> {
        let mut cluster = self.cluster.lock();
        let without = HashSet::new();
        let mut rejected = Vec::new();
        let mut best: Option<((usize, usize), String)> = None;
        let tolerations = list(candidate.object, "/spec/tolerations");
        for (name, node) in &cluster.nodes {
            if let Err(rejection) = candidate.filter(&cluster, node, &without) {
                rejected.push((node.clone(), rejection));
                continue;
            }
            let cost = (
                affinity::avoided(&node.object, tolerations),
                cluster.pods_on(name),
            );
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, name.clone()));
            }
        }
        let Some((_, node)) = best else {
            return Err(rejected);
        };
        let placed = &candidate.placed;
        cluster.place(&placed.item, &node, Some(&placed.facts));
        Ok(node)
    }

    /// Finds out whether other pods can make room; returns the message of the pod's condition, and the pods.
    fn preempt(
        &self,
        cx: &Context,
        candidate: &Candidate<'_>,
        rejected: &[(Arc<Node>, Rejection)],
    ) -> (String, Option<Victims>) {
        if rejected.is_empty() {
            return ("no nodes available to schedule pods".to_owned(), None);
        }
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, rejection) in rejected {
            for reason in &rejection.reasons {
                *reasons.entry(reason).or_default() += 1;
            }
        }
        let mut reasons: Vec<String> = reasons
            .into_iter()
            .map(|(reason, nodes)| format!("{nodes} {reason}"))
            .collect();
        reasons.sort();
        let message = format!(
            "0/{} nodes are available: {}.",
            rejected.len(),
            reasons.join(", ")
        );
        if text(candidate.object, "/spec/preemptionPolicy") == "Never" {
            let why = "preemption: not eligible due to preemptionPolicy=Never.";
            return (format!("{message} {why}"), None);
        }
        let budgets = budgets(cx);
        let cluster = self.cluster.lock();
        let nominated = text(candidate.object, "/status/nominatedNodeName");
        let priority = candidate.placed.facts.priority;
        let leaving = cluster.on(nominated).is_some_and(|on_node| {
            on_node.pods.values().any(|pod| {
                pod.facts.priority < priority
                    && pod.item.is_deleting()
                    && !pod.item.pod.disrupted_since.is_empty()
            })
        });
        if leaving {
            let why = "preemption: not eligible due to a terminating pod on the nominated node.";
            return (format!("{message} {why}"), None);
        }
        let search = preemption::search(&cluster, candidate, rejected, &budgets);
        let why = match &search.best {
            Some(_) => String::new(),
            None => format!(" {}", search.message()),
        };
        (format!("{message}{why}"), search.best)
    }
}

/// Whether a pod that comes to a node can make room for this one: by affinity, or in a domain that has too few pods.
fn is_sociable(pod: &Value) -> bool {
    let near = "/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    [near, "/spec/topologySpreadConstraints"]
        .into_iter()
        .any(|at| !list(pod, at).is_empty())
}

/// Writes into claims that wait for their first consumer where it is.
async fn select_node(cx: &Context, pod: &Item, object: &Value, node: &str) -> Result<(), Failure> {
    const SELECTED: &str = "volume.kubernetes.io/selected-node";
    for volume in list(object, "/spec/volumes") {
        let name = text(volume, "/persistentVolumeClaim/claimName");
        if name.is_empty() {
            continue;
        }
        let path = format!("{}/{name}", pod.namespace());
        let Some(claim) = cx.look(|graph| graph.get("persistentvolumeclaims", &path)) else {
            continue;
        };
        let claim = claim.object.value();
        let class = text(&claim, "/spec/storageClassName");
        let class = cx.look(|graph| graph.get("storageclasses.storage.k8s.io", class));
        let waits = class.is_some_and(|class| {
            class.object.value()["volumeBindingMode"] == "WaitForFirstConsumer"
        });
        let bound = !text(&claim, "/spec/volumeName").is_empty();
        if bound || !waits || claim["metadata"]["annotations"][SELECTED].is_string() {
            continue;
        }
        let patch = json!({"metadata": {"annotations": {SELECTED: node}}});
        let path = CLAIMS.path(pod.namespace(), name);
        cx.client.merge(Who::Scheduler, &path, &patch).await?;
    }
    Ok(())
}

fn budgets(cx: &Context) -> Vec<Budget> {
    let budgets = cx.look(|graph| graph.list("poddisruptionbudgets.policy", ""));
    budgets
        .iter()
        .filter_map(|budget| {
            let object = budget.object.value();
            let selector = Labels::from_object(&object["spec"]["selector"]).ok()??;
            let disrupted = map(&object, "/status/disruptedPods");
            Some(Budget {
                namespace: budget.namespace().to_owned(),
                selector,
                allowed: number(&object, "/status/disruptionsAllowed"),
                disrupted: disrupted.into_iter().map(|(name, _)| name).collect(),
            })
        })
        .collect()
}

/// Says in the pod that no node takes it, and deletes the pods that leave for it; a change of a node or of another pod brings
/// it here again.
async fn refuse(cx: &Context, pod: &Value, message: &str, victims: Option<Victims>) -> Outcome {
    let mut status = map(pod, "/status");
    let known = condition(&status, "PodScheduled");
    let same = known
        .is_some_and(|known| known["message"] == message && known["reason"] == "Unschedulable");
    let nominated = victims.as_ref().map(|victims| victims.node.as_str());
    if !same {
        let since = known
            .filter(|known| known["status"] == "False")
            .map(|known| known["lastTransitionTime"].clone());
        put_condition(
            &mut status,
            json!({
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": message,
                "lastTransitionTime": since.unwrap_or_else(|| cx.clock.text().into()),
                "observedGeneration": number(pod, "/metadata/generation"),
            }),
        );
        let reason = "FailedScheduling";
        cx.tell(SCHEDULER, pod, Kind::Warning, reason, message)
            .await;
    }
    if let Some(node) = nominated {
        status.insert("nominatedNodeName".to_owned(), node.into());
    }
    if map(pod, "/status") != status {
        let mut changed = pod.clone();
        changed["status"] = Value::Object(status);
        cx.client
            .update_status(Who::Scheduler, &PODS, &changed)
            .await?;
    }
    if let Some(victims) = victims {
        for victim in &victims.pods {
            evict(cx, pod, &victims.node, &victim.item).await?;
        }
    }
    Ok(Next::Done)
}

/// Deletes a pod so that another one takes its place.
async fn evict(cx: &Context, preemptor: &Value, node: &str, victim: &Item) -> Result<(), Failure> {
    if victim.is_deleting() {
        return Ok(());
    }
    let mut object = victim.object.value();
    let mut status = map(&object, "/status");
    put_condition(
        &mut status,
        json!({
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": "default-scheduler: preempting to accommodate a higher priority pod",
            "lastTransitionTime": cx.clock.text(),
            "observedGeneration": number(&object, "/metadata/generation"),
        }),
    );
    object["status"] = Value::Object(status);
    match cx
        .client
        .update_status(Who::Scheduler, &PODS, &object)
        .await
    {
        Err(failure) if failure.is_not_found() => return Ok(()),
        outcome => outcome?,
    };
    let path = PODS.path(victim.namespace(), victim.name());
    let options = json!({"preconditions": {"uid": victim.meta.uid}});
    cx.client.delete(Who::Scheduler, &path, &options).await?;
    let message = format!(
        "Preempted by pod {} on node {node}",
        text(preemptor, "/metadata/uid")
    );
    cx.tell(SCHEDULER, &object, Kind::Normal, "Preempted", &message)
        .await;
    Ok(())
}
