//! What a kubelet checks before it starts a pod: a pod may have come to its node without a scheduler.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::super::super::object::Item;
use super::super::affinity;
use super::cluster::{Cluster, Placed};
use super::facts::Node;
use super::filter::Candidate;

impl Cluster {
    /// The reason and the message with which a node rejects a pod. Pods that came earlier have precedence.
    pub(crate) fn admit(&self, pod: &Item, object: &Value) -> Option<(String, String)> {
        let node = self.nodes.get(&pod.pod.node)?;
        let placed = self.on(&node.name)?.pods.get(&pod.meta.uid)?;
        let without = self.later_than(&node.name, placed);
        let candidate = Candidate {
            object,
            placed: Placed::clone(placed),
        };
        if let Some(rejection) = self.lacks(node, placed, &without) {
            return Some(rejection);
        }
        if !affinity::matches(&node.object, &object["spec"]) {
            let message =
                "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
            return Some(("NodeAffinity".to_owned(), message.to_owned()));
        }
        let ports = candidate.filter_ports(self, node, &without, &[]).err()?;
        let message = format!("Predicate NodePorts failed: {}", ports.reasons.join(", "));
        Some(("NodePorts".to_owned(), message))
    }

    /// The pods that came to a node after one.
    fn later_than(&self, node: &str, than: &Placed) -> HashSet<String> {
        let pods = self.on(node).into_iter().flat_map(|on| on.pods.values());
        pods.filter(|pod| pod.since > than.since)
            .map(|pod| pod.uid().to_owned())
            .collect()
    }

    /// The first resource that a node has too little of.
    fn lacks(
        &self,
        node: &Node,
        placed: &Arc<Placed>,
        without: &HashSet<String>,
    ) -> Option<(String, String)> {
        let allocatable = node.allocatable.as_ref()?;
        let others: Vec<&Arc<Placed>> = self
            .on(&node.name)?
            .pods
            .values()
            .filter(|pod| !without.contains(pod.uid()) && pod.uid() != placed.uid())
            .collect();
        let room = allocatable.get("pods").copied().unwrap_or_default() / 1000;
        let pods = i128::try_from(others.len()).unwrap_or(i128::MAX);
        let text = |name: &str, requested: i128, used: i128, capacity: i128| {
            format!(
                "Node didn't have enough resource: {name}, requested: {requested}, used: {used}, capacity: {capacity}"
            )
        };
        if pods >= room {
            return Some(("OutOfpods".to_owned(), text("pods", 1, pods, room)));
        }
        for (name, requested) in &placed.facts.requests {
            // A kubelet ignores resources that its node does not have.
            let Some(capacity) = allocatable.get(name) else {
                continue;
            };
            let used: i128 = others
                .iter()
                .filter_map(|pod| pod.facts.requests.get(name))
                .sum();
            if *requested > capacity - used {
                // CPUs are counted in thousandths, everything else whole.
                let unit = if name == "cpu" { 1 } else { 1000 };
                let message = text(name, requested / unit, used / unit, capacity / unit);
                return Some((format!("OutOf{name}"), message));
            }
        }
        None
    }
}
