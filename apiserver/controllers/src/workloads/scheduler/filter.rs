//! Which nodes a pod may run on, and why not on the others.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kubewright_apimachinery::selectors::Labels;
use kubewright_storage as storage;
use serde_json::Value;

use super::super::super::object::{Item, flag, list, number, text};
use super::super::affinity;
use super::cluster::{Cluster, OnNode, Placed};
use super::facts::{Node, Resources, add};

/// A pod that needs a node.
pub(super) struct Candidate<'a> {
    pub(super) object: &'a Value,
    pub(super) placed: Placed,
}

/// Why a node does not take a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rejection {
    pub(super) reasons: Vec<String>,
    /// Whether other pods could make room by leaving.
    pub(super) helps_to_preempt: bool,
}

impl Rejection {
    fn new(reason: &str, helps_to_preempt: bool) -> Self {
        Self {
            reasons: vec![reason.to_owned()],
            helps_to_preempt,
        }
    }
}

impl Candidate<'_> {
    fn labels(&self) -> &storage::Labels {
        self.placed.item.object.labels()
    }

    /// Asks one node for a place, as if some pods were not on it. The checks have the order of the real scheduler, which
    /// gives the reason of the first one that fails.
    pub(super) fn filter(
        &self,
        cluster: &Cluster,
        node: &Node,
        without: &HashSet<String>,
    ) -> Result<(), Rejection> {
        let tolerations = list(self.object, "/spec/tolerations");
        if flag(&node.object, "/spec/unschedulable") && !affinity::tolerates_closed(tolerations) {
            return Err(Rejection::new("node(s) were unschedulable", false));
        }
        if !affinity::tolerates(&node.object, tolerations) {
            return Err(Rejection::new("node(s) had untolerated taint(s)", false));
        }
        if !affinity::matches(&node.object, &self.object["spec"]) {
            let reason = "node(s) didn't match Pod's node affinity/selector";
            return Err(Rejection::new(reason, false));
        }
        let priority = self.placed.facts.priority;
        let nominated = cluster.nominated_on(&node.name, self.placed.uid(), priority);
        self.filter_ports(cluster, node, without, &nominated)?;
        self.filter_resources(cluster, node, without, &nominated)?;
        self.filter_spread(cluster, node, without)?;
        self.filter_affinity(cluster, node, without)
    }

    pub(super) fn filter_ports(
        &self,
        cluster: &Cluster,
        node: &Node,
        without: &HashSet<String>,
        nominated: &[Arc<Placed>],
    ) -> Result<(), Rejection> {
        let own = &self.placed.facts.ports;
        if own.is_empty() {
            return Ok(());
        }
        let on_node = cluster.on(&node.name);
        let taken = on_node.into_iter().flat_map(OnNode::ports);
        let taken = taken
            .filter(|(pod, _)| !without.contains(pod.uid()) && pod.uid() != self.placed.uid())
            .map(|(_, port)| port);
        let kept = nominated.iter().flat_map(|pod| &pod.facts.ports);
        let mut taken = taken.chain(kept);
        if taken.any(|port| own.iter().any(|own| own.conflicts(port))) {
            let reason = "node(s) didn't have free ports for the requested pod ports";
            return Err(Rejection::new(reason, true));
        }
        Ok(())
    }

    pub(super) fn filter_resources(
        &self,
        cluster: &Cluster,
        node: &Node,
        without: &HashSet<String>,
        nominated: &[Arc<Placed>],
    ) -> Result<(), Rejection> {
        let Some(allocatable) = &node.allocatable else {
            return Ok(());
        };
        let mut used = Resources::new();
        let mut pods = nominated.len();
        if let Some(on_node) = cluster.on(&node.name) {
            used.clone_from(&on_node.requested);
            pods += on_node.pods.len();
            for pod in on_node.pods.values() {
                if without.contains(pod.uid()) || pod.uid() == self.placed.uid() {
                    pods -= 1;
                    for (name, amount) in &pod.facts.requests {
                        *used.entry(name.clone()).or_default() -= amount;
                    }
                }
            }
        }
        for pod in nominated {
            add(&mut used, &pod.facts.requests);
        }
        let mut reasons = Vec::new();
        let room = allocatable.get("pods").copied().unwrap_or_default() / 1000;
        if i128::try_from(pods).unwrap_or(i128::MAX) >= room {
            reasons.push("Too many pods".to_owned());
        }
        let mut never = false;
        for (name, amount) in &self.placed.facts.requests {
            let all = allocatable.get(name).copied().unwrap_or_default();
            let used = used.get(name).copied().unwrap_or_default();
            if *amount > all - used {
                reasons.push(format!("Insufficient {name}"));
                never |= *amount > all;
            }
        }
        if reasons.is_empty() {
            return Ok(());
        }
        Err(Rejection {
            reasons,
            helps_to_preempt: !never,
        })
    }

    /// The topology spread constraints that must hold.
    fn filter_spread(
        &self,
        cluster: &Cluster,
        node: &Node,
        without: &HashSet<String>,
    ) -> Result<(), Rejection> {
        const REASON: &str = "node(s) didn't match pod topology spread constraints";
        let constraints: Vec<&Value> = list(self.object, "/spec/topologySpreadConstraints")
            .iter()
            .filter(|constraint| constraint["whenUnsatisfiable"] == "DoNotSchedule")
            .collect();
        for constraint in &constraints {
            let key = text(constraint, "/topologyKey");
            let Some(domain) = node.label(key) else {
                let reason = format!("{REASON} (missing required label)");
                return Err(Rejection::new(&reason, false));
            };
            let mut domains: HashMap<&str, i64> = HashMap::new();
            let eligible = |node: &Node| {
                let honors = |policy: &str, default: bool| match text(constraint, policy) {
                    "" => default,
                    policy => policy == "Honor",
                };
                let all_keys = constraints
                    .iter()
                    .all(|constraint| node.label(text(constraint, "/topologyKey")).is_some());
                let tolerations = list(self.object, "/spec/tolerations");
                all_keys
                    && (!honors("/nodeAffinityPolicy", true)
                        || affinity::matches(&node.object, &self.object["spec"]))
                    && (!honors("/nodeTaintsPolicy", false)
                        || affinity::tolerates(&node.object, tolerations))
            };
            for node in cluster.nodes.values().filter(|node| eligible(node)) {
                if let Some(domain) = node.label(key) {
                    domains.entry(domain).or_default();
                }
            }
            let selector = Labels::from_object(&constraint["labelSelector"])
                .ok()
                .flatten();
            let own = self.labels();
            let also = list(constraint, "/matchLabelKeys");
            let selects = |labels: &storage::Labels| {
                selector
                    .as_ref()
                    .is_some_and(|selector| selector.matches(Some(labels)))
                    && also
                        .iter()
                        .filter_map(Value::as_str)
                        .all(|key| own.get(key).is_none_or(|own| labels.get(key) == Some(own)))
            };
            for (on, pod) in cluster.placed() {
                let counts = pod.item.namespace() == self.placed.item.namespace()
                    && !pod.item.is_deleting()
                    && !without.contains(pod.uid())
                    && selects(pod.item.object.labels());
                let Some(on) = cluster.nodes.get(on).filter(|_| counts) else {
                    continue;
                };
                if let Some(count) = on.label(key).and_then(|domain| domains.get_mut(domain)) {
                    *count += 1;
                }
            }
            let least = constraint["minDomains"].as_u64().unwrap_or(1);
            let enough = u64::try_from(domains.len()).unwrap_or(u64::MAX) >= least;
            let lowest = if enough {
                domains.values().min().copied().unwrap_or_default()
            } else {
                0
            };
            let there = domains.get(domain).copied().unwrap_or_default();
            let skew = there + i64::from(selects(own)) - lowest;
            if skew > number(constraint, "/maxSkew") {
                return Err(Rejection::new(REASON, true));
            }
        }
        Ok(())
    }

    /// The affinity and the anti-affinity of pods that must hold.
    fn filter_affinity(
        &self,
        cluster: &Cluster,
        node: &Node,
        without: &HashSet<String>,
    ) -> Result<(), Rejection> {
        const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
        let item = &self.placed.item;
        let here = |on: &str, key: &str| {
            let there = cluster.nodes.get(on).and_then(|on| on.label(key));
            there.is_some() && there == node.label(key)
        };
        let others = || {
            cluster
                .placed()
                .filter(|(_, pod)| !without.contains(pod.uid()) && pod.uid() != self.placed.uid())
        };
        let wanted = list(
            self.object,
            &format!("/spec/affinity/podAffinity/{REQUIRED}"),
        );
        if !wanted.is_empty() {
            let terms: Vec<Term<'_>> = wanted
                .iter()
                .map(|term| Term::new(cluster, term, item))
                .collect();
            let found = terms.iter().all(|term| {
                let mut others =
                    others().filter(|(_, pod)| terms.iter().all(|term| term.selects(pod)));
                others.any(|(on, _)| here(on, term.key))
            });
            // The first pod of a group that wants to be together may be anywhere.
            let first = || {
                !others().any(|(_, pod)| terms.iter().all(|term| term.selects(pod)))
                    && terms
                        .iter()
                        .all(|term| term.selects(&self.placed) && node.label(term.key).is_some())
            };
            if !found && !first() {
                let reason = "node(s) didn't match pod affinity rules";
                return Err(Rejection::new(reason, false));
            }
        }
        for term in &self.placed.facts.anti_affinity {
            let term = Term::new(cluster, term, item);
            if others().any(|(on, pod)| here(on, term.key) && term.selects(pod)) {
                let reason = "node(s) didn't match pod anti-affinity rules";
                return Err(Rejection::new(reason, true));
            }
        }
        if cluster.repelling.is_empty() {
            return Ok(());
        }
        for (on, pod) in others().filter(|(_, pod)| cluster.repelling.contains(pod.uid())) {
            for term in &pod.facts.anti_affinity {
                let term = Term::new(cluster, term, &pod.item);
                if here(on, term.key) && term.selects(&self.placed) {
                    let reason = "node(s) didn't satisfy existing pods anti-affinity rules";
                    return Err(Rejection::new(reason, true));
                }
            }
        }
        Ok(())
    }
}

/// A term of an affinity of a pod.
struct Term<'a> {
    key: &'a str,
    namespaces: HashSet<String>,
    selector: Option<Labels>,
}

impl<'a> Term<'a> {
    fn new(cluster: &Cluster, term: &'a Value, of: &Item) -> Self {
        let mut namespaces: HashSet<String> = list(term, "/namespaces")
            .iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect();
        if let Ok(Some(selector)) = Labels::from_object(&term["namespaceSelector"]) {
            let all = cluster.namespaces.iter();
            let selected = all.filter(|(_, labels)| selector.matches(Some(*labels)));
            namespaces.extend(selected.map(|(name, _)| name.clone()));
        } else if namespaces.is_empty() {
            namespaces.insert(of.namespace().to_owned());
        }
        Self {
            key: text(term, "/topologyKey"),
            namespaces,
            selector: Labels::from_object(&term["labelSelector"]).ok().flatten(),
        }
    }

    fn selects(&self, pod: &Placed) -> bool {
        self.namespaces.contains(pod.item.namespace())
            && self
                .selector
                .as_ref()
                .is_some_and(|selector| selector.matches(Some(pod.item.object.labels())))
    }
}
