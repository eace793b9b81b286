//! What is used on which node. Every edge leads towards nodes: secret → pod → node, secret → volume → claim → pod → node.

use std::collections::{HashMap, HashSet};

use kubewright_storage::Object;

use super::super::derived::Derived;
use super::references;
use super::vertex::{ATTACHMENTS, CERTIFICATE_REQUESTS, Edge, Kind, PODS, SLICES, VOLUMES, Vertex};

/// Everything that is used on nodes.
#[derive(Debug, Default)]
pub(super) struct Graph {
    next: HashMap<Vertex, HashSet<Vertex>>,
    /// The edges that a stored object makes: it is at one end of each.
    of_object: HashMap<Vertex, Vec<Edge>>,
}

impl Graph {
    /// Whether a node is reached from a vertex.
    pub(super) fn leads(&self, from: &Vertex, node: &str) -> bool {
        let node = Vertex::new(Kind::Node, "", node);
        let mut ahead = vec![from];
        let mut seen: HashSet<&Vertex> = HashSet::new();
        while let Some(vertex) = ahead.pop() {
            if *vertex == node {
                return true;
            }
            if seen.insert(vertex) {
                ahead.extend(self.next.get(vertex).into_iter().flatten());
            }
        }
        false
    }
}

impl Derived for Graph {
    const TABLES: &'static [&'static str] =
        &[PODS, VOLUMES, ATTACHMENTS, SLICES, CERTIFICATE_REQUESTS];

    fn put(&mut self, table: &'static str, object: &Object) {
        self.remove(table, &object.path);
        let vertex = Vertex::of(table, &object.path);
        let value = object.value();
        let edges = match table {
            PODS => references::of_pod(&vertex, &value),
            VOLUMES => references::of_volume(&vertex, &value),
            _ => references::of_node_name(&vertex, &value),
        };
        for (from, to) in &edges {
            let next = self.next.entry(from.clone()).or_default();
            next.insert(to.clone());
        }
        if !edges.is_empty() {
            self.of_object.insert(vertex, edges);
        }
    }

    fn remove(&mut self, table: &'static str, path: &str) {
        let edges = self.of_object.remove(&Vertex::of(table, path));
        for (from, to) in edges.unwrap_or_default() {
            if let Some(next) = self.next.get_mut(&from) {
                next.remove(&to);
                if next.is_empty() {
                    self.next.remove(&from);
                }
            }
        }
    }
}
