//! The nodes, the pods on them, and the places that are kept for others: what the scheduler decides by.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use kubewright_storage::Labels;

use super::super::super::graph::Change;
use super::super::super::object::Item;
use super::facts::{Node, PodFacts, Port, Resources, add};

/// The state of the scheduler.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    pub(super) nodes: BTreeMap<String, Arc<Node>>,
    on_node: HashMap<String, OnNode>,
    /// The node of each pod, by the UID of the pod.
    places: HashMap<String, String>,
    /// Pods that wait for a node that others have to leave, by UID.
    nominated: HashMap<String, (String, Arc<Placed>)>,
    /// How many pods have come to nodes.
    arrivals: u64,
    /// The labels of namespaces.
    pub(super) namespaces: HashMap<String, Labels>,
    /// The pods on all nodes with a required anti-affinity: their UIDs.
    pub(super) repelling: HashSet<String>,
}

/// Which pods that no node has taken may find a place after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    None,
    /// Those that want to be near others.
    Sociable,
    All,
}

/// The pods on one node.
#[derive(Debug, Default)]
pub(super) struct OnNode {
    /// By UID.
    pub(super) pods: HashMap<String, Arc<Placed>>,
    pub(super) requested: Resources,
}

/// A pod on a node.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) item: Arc<Item>,
    pub(super) facts: Arc<PodFacts>,
    /// Its number among all pods that came to nodes.
    pub(super) since: u64,
}

impl Placed {
    pub(super) fn new(item: Arc<Item>) -> Self {
        let facts = Arc::new(PodFacts::of(&item.object.value()));
        Self {
            item,
            facts,
            since: 0,
        }
    }

    pub(super) fn uid(&self) -> &str {
        &self.item.meta.uid
    }
}

impl OnNode {
    pub(super) fn ports(&self) -> impl Iterator<Item = (&Arc<Placed>, &Port)> {
        self.pods
            .values()
            .flat_map(|pod| pod.facts.ports.iter().map(move |port| (pod, port)))
    }
}

impl Cluster {
    /// Takes over a change of a node, a pod or a namespace; returns which pods may find a place now.
    pub(super) fn follow(&mut self, change: &Change) -> Wake {
        if change.is_in("namespaces") {
            match (&change.before, &change.after) {
                (_, Some(namespace)) => {
                    let labels = namespace.object.labels().clone();
                    self.namespaces.insert(namespace.name().to_owned(), labels);
                }
                (Some(gone), None) => {
                    self.namespaces.remove(gone.name());
                }
                (None, None) => {}
            }
            return Wake::None;
        }
        if change.is_in("nodes") {
            match (&change.before, &change.after) {
                (_, Some(node)) => {
                    let node = Node::of(node.object.value());
                    self.nodes.insert(node.name.clone(), Arc::new(node));
                }
                (Some(node), None) => {
                    self.nodes.remove(node.name());
                }
                (None, None) => {}
            }
            return Wake::All;
        }
        match &change.after {
            Some(pod) if pod.pod.node.is_empty() => {
                self.nominate(pod);
                Wake::None
            }
            Some(pod) if !pod.has_finished() => {
                self.nominated.remove(&pod.meta.uid);
                let node = pod.pod.node.clone();
                self.place(pod, &node, None);
                match &change.before {
                    Some(before) if before.object.labels() != pod.object.labels() => Wake::All,
                    Some(before) if !before.pod.node.is_empty() => Wake::None,
                    _ => Wake::Sociable,
                }
            }
            _ => {
                let Some(pod) = change.item() else {
                    return Wake::None;
                };
                self.nominated.remove(&pod.meta.uid);
                if self.remove(&pod.meta.uid) {
                    Wake::All
                } else {
                    Wake::None
                }
            }
        }
    }

    fn nominate(&mut self, pod: &Arc<Item>) {
        let uid = &pod.meta.uid;
        if pod.pod.nominated_node.is_empty() || !pod.is_active_pod() {
            self.nominated.remove(uid);
        } else if !self.nominated.contains_key(uid) {
            let node = pod.pod.nominated_node.clone();
            let placed = Arc::new(Placed::new(pod.clone()));
            self.nominated.insert(uid.clone(), (node, placed));
        }
    }

    /// Puts a pod on a node, with the facts about it if they are known.
    pub(super) fn place(&mut self, pod: &Arc<Item>, node: &str, facts: Option<&Arc<PodFacts>>) {
        let uid = &pod.meta.uid;
        let known = self
            .places
            .get(uid)
            .filter(|known| *known == node)
            .and_then(|node| self.on_node.get_mut(node)?.pods.get_mut(uid));
        if let Some(known) = known {
            *known = Arc::new(Placed {
                item: pod.clone(),
                ..Placed::clone(known)
            });
            return;
        }
        self.remove(uid);
        self.arrivals += 1;
        let facts = facts.cloned();
        let facts = facts.unwrap_or_else(|| Arc::new(PodFacts::of(&pod.object.value())));
        let placed = Arc::new(Placed {
            item: pod.clone(),
            facts,
            since: self.arrivals,
        });
        if !placed.facts.anti_affinity.is_empty() {
            self.repelling.insert(uid.clone());
        }
        self.places.insert(uid.clone(), node.to_owned());
        let on_node = self.on_node.entry(node.to_owned()).or_default();
        add(&mut on_node.requested, &placed.facts.requests);
        on_node.pods.insert(uid.clone(), placed);
    }

    /// Takes a pod off its node; returns whether it was on one.
    pub(super) fn remove(&mut self, uid: &str) -> bool {
        self.repelling.remove(uid);
        let Some(node) = self.places.remove(uid) else {
            return false;
        };
        if let Some(on_node) = self.on_node.get_mut(&node)
            && let Some(placed) = on_node.pods.remove(uid)
        {
            for (name, amount) in &placed.facts.requests {
                if let Some(known) = on_node.requested.get_mut(name) {
                    *known -= amount;
                }
            }
            if on_node.pods.is_empty() {
                self.on_node.remove(&node);
            }
        }
        true
    }

    pub(super) fn on(&self, node: &str) -> Option<&OnNode> {
        self.on_node.get(node)
    }

    /// How many pods a node has.
    pub(super) fn pods_on(&self, node: &str) -> usize {
        self.on(node).map_or(0, |on_node| on_node.pods.len())
    }

    /// All pods on nodes, with the names of these.
    pub(super) fn placed(&self) -> impl Iterator<Item = (&str, &Arc<Placed>)> {
        self.on_node
            .iter()
            .flat_map(|(node, on_node)| on_node.pods.values().map(move |pod| (node.as_str(), pod)))
    }

    /// The pods for which a node is kept, but for this one and those that are less important.
    pub(super) fn nominated_on(&self, node: &str, uid: &str, priority: i64) -> Vec<Arc<Placed>> {
        let others = self
            .nominated
            .values()
            .filter(|(on, pod)| on == node && pod.uid() != uid && pod.facts.priority >= priority);
        others.map(|(_, pod)| pod.clone()).collect()
    }
}
