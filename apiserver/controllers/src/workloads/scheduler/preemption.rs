//! Preemption: which pods leave a node so that one of a higher priority fits.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use kubewright_apimachinery::selectors::Labels;

use super::cluster::{Cluster, Placed};
use super::facts::Node;
use super::filter::{Candidate, Rejection};

/// A PodDisruptionBudget.
#[derive(Debug)]
pub(super) struct Budget {
    pub(super) namespace: String,
    pub(super) selector: Labels,
    pub(super) allowed: i64,
    /// The names of pods that are evicted already.
    pub(super) disrupted: Vec<String>,
}

/// The pods that leave a node.
#[derive(Debug)]
pub(super) struct Victims {
    pub(super) node: String,
    /// The most important first.
    pub(super) pods: Vec<Arc<Placed>>,
    /// How many of them a budget wants to keep.
    violations: usize,
}

/// What came of looking for pods that could leave.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) best: Option<Victims>,
    /// Why nodes do not help, with the number of them.
    reasons: BTreeMap<&'static str, usize>,
    nodes: usize,
}

impl Search {
    /// The message of a search that found nothing.
    pub(super) fn message(&self) -> String {
        let reasons: Vec<String> = self
            .reasons
            .iter()
            .map(|(reason, nodes)| format!("{nodes} {reason}"))
            .collect();
        let (nodes, reasons) = (self.nodes, reasons.join(", "));
        format!("preemption: 0/{nodes} nodes are available: {reasons}.")
    }
}

/// Looks for the node that a pod fits on at the least cost.
pub(super) fn search(
    cluster: &Cluster,
    candidate: &Candidate<'_>,
    rejected: &[(Arc<Node>, Rejection)],
    budgets: &[Budget],
) -> Search {
    let mut search = Search {
        best: None,
        reasons: BTreeMap::new(),
        nodes: rejected.len(),
    };
    for (node, rejection) in rejected {
        let found = if rejection.helps_to_preempt {
            victims(cluster, candidate, node, budgets)
                .ok_or("No preemption victims found for incoming pod")
        } else {
            Err("Preemption is not helpful for scheduling")
        };
        match found {
            Ok(found) => {
                let better = search
                    .best
                    .as_ref()
                    .is_none_or(|best| cost(&found) < cost(best));
                if better {
                    search.best = Some(found);
                }
            }
            Err(reason) => *search.reasons.entry(reason).or_default() += 1,
        }
    }
    search
}

/// What it costs to make room: the smaller is better.
fn cost(victims: &Victims) -> impl Ord {
    let priorities = || victims.pods.iter().map(|pod| pod.facts.priority);
    let highest = priorities().max();
    // The latest start of the most important pods has lost the least.
    let start = victims
        .pods
        .iter()
        .filter(|pod| Some(pod.facts.priority) == highest)
        .map(|pod| pod.item.meta.creation_timestamp.clone())
        .min();
    (
        victims.violations,
        highest,
        priorities().sum::<i64>(),
        victims.pods.len(),
        std::cmp::Reverse(start),
        victims.node.clone(),
    )
}

/// The pods that have to leave a node; `None` if that does not help.
fn victims(
    cluster: &Cluster,
    candidate: &Candidate<'_>,
    node: &Node,
    budgets: &[Budget],
) -> Option<Victims> {
    let priority = candidate.placed.facts.priority;
    let on_node = cluster.on(&node.name)?;
    let mut lower: Vec<Arc<Placed>> = on_node
        .pods
        .values()
        .filter(|pod| pod.facts.priority < priority)
        .cloned()
        .collect();
    if lower.is_empty() {
        return None;
    }
    let mut without: HashSet<String> = lower.iter().map(|pod| pod.uid().to_owned()).collect();
    candidate.filter(cluster, node, &without).ok()?;
    // The most important and the oldest are the first that may stay.
    lower.sort_by_cached_key(|pod| {
        let created = pod.item.meta.creation_timestamp.clone();
        (std::cmp::Reverse(pod.facts.priority), created)
    });
    let (guarded, free) = split(&lower, budgets);
    let mut leaving = Vec::new();
    let mut violations = 0;
    for (pod, is_guarded) in guarded
        .iter()
        .map(|pod| (pod, true))
        .chain(free.iter().map(|pod| (pod, false)))
    {
        without.remove(pod.uid());
        if candidate.filter(cluster, node, &without).is_err() {
            without.insert(pod.uid().to_owned());
            leaving.push(pod.clone());
            violations += usize::from(is_guarded);
        }
    }
    leaving.sort_by_key(|pod| std::cmp::Reverse(pod.facts.priority));
    (!leaving.is_empty()).then(|| Victims {
        node: node.name.clone(),
        pods: leaving,
        violations,
    })
}

/// The pods whose end a budget does not allow, and the others.
fn split(pods: &[Arc<Placed>], budgets: &[Budget]) -> (Vec<Arc<Placed>>, Vec<Arc<Placed>>) {
    let mut allowed: Vec<i64> = budgets.iter().map(|budget| budget.allowed).collect();
    pods.iter().cloned().partition(|pod| {
        let mut guarded = false;
        let labels = pod.item.object.labels();
        for (budget, allowed) in budgets.iter().zip(&mut allowed) {
            let is_of = budget.namespace == pod.item.namespace()
                && !labels.is_empty()
                && budget.selector.matches(Some(labels));
            if !is_of || budget.disrupted.iter().any(|name| name == pod.item.name()) {
                continue;
            }
            *allowed -= 1;
            guarded |= *allowed < 0;
        }
        guarded
    })
}
