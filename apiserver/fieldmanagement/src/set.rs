//! A set of paths into an object.

use std::cmp::Ordering;

use super::element::Element;

/// A set of paths, as a tree; a path does not include its parents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Set {
    /// Sorted by element. Each node is a member or has members below it.
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) element: Element,
    /// Whether the path that ends here is in the set.
    pub(super) member: bool,
    pub(super) below: Set,
}

impl Set {
    /// The set of one path of fields.
    pub(super) fn of_path<'p>(path: impl Iterator<Item = &'p str>) -> Self {
        let mut set = Self::default();
        let path: Vec<_> = path
            .map(|name| Element::Field(name.to_owned().into()))
            .collect();
        set.insert(&path);
        set
    }

    /// The set of these paths of fields.
    pub(super) fn of_fields(paths: &[&[&'static str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<_> = path
                .iter()
                .map(|name| Element::Field((*name).into()))
                .collect();
            set.insert(&path);
        }
        set
    }

    /// The set of these nodes, which have distinct elements and come in any order.
    pub(super) fn of_nodes(mut nodes: Vec<Node>) -> Self {
        if !nodes.is_sorted_by(|a, b| a.element <= b.element) {
            nodes.sort_by(|a, b| a.element.cmp(&b.element));
        }
        Self { nodes }
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(super) fn insert(&mut self, path: &[Element]) {
        let Some((first, rest)) = path.split_first() else {
            // No manager owns the object itself.
            return;
        };
        let at = match self.find(first) {
            Ok(at) => at,
            Err(at) => {
                let node = Node {
                    element: first.clone(),
                    member: false,
                    below: Self::default(),
                };
                self.nodes.insert(at, node);
                at
            }
        };
        let node = &mut self.nodes[at];
        if rest.is_empty() {
            node.member = true;
        } else {
            node.below.insert(rest);
        }
    }

    pub(super) fn get(&self, element: &Element) -> Option<&Node> {
        Some(&self.nodes[self.find(element).ok()?])
    }

    /// The node of a field.
    pub(super) fn field(&self, name: &str) -> Option<&Node> {
        let at = self.nodes.binary_search_by(|node| match &node.element {
            Element::Field(field) => (**field).cmp(name),
            // Fields come first.
            _ => Ordering::Greater,
        });
        Some(&self.nodes[at.ok()?])
    }

    pub(super) fn has(&self, path: &[Element]) -> bool {
        let Some((first, rest)) = path.split_first() else {
            return false;
        };
        self.get(first).is_some_and(|node| {
            if rest.is_empty() {
                node.member
            } else {
                node.below.has(rest)
            }
        })
    }

    /// All paths, each before the paths below it.
    pub(super) fn paths(&self) -> Vec<Vec<Element>> {
        let mut paths = Vec::new();
        self.collect_paths(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect_paths(&self, place: &mut Vec<Element>, paths: &mut Vec<Vec<Element>>) {
        // All members of this level come before the paths below them.
        for node in self.nodes.iter().filter(|node| node.member) {
            place.push(node.element.clone());
            paths.push(place.clone());
            place.pop();
        }
        for node in &self.nodes {
            place.push(node.element.clone());
            node.below.collect_paths(place, paths);
            place.pop();
        }
    }

    pub(super) fn union(self, other: Self) -> Self {
        if self.nodes.is_empty() {
            return other;
        }
        let (mut left, mut right) = (
            self.nodes.into_iter().peekable(),
            other.nodes.into_iter().peekable(),
        );
        let mut nodes = Vec::with_capacity(left.len().max(right.len()));
        while let (Some(mine), Some(theirs)) = (left.peek(), right.peek()) {
            match mine.element.cmp(&theirs.element) {
                Ordering::Less => nodes.extend(left.next()),
                Ordering::Greater => nodes.extend(right.next()),
                Ordering::Equal => {
                    nodes.extend(left.next().zip(right.next()).map(|(a, b)| Node {
                        element: a.element,
                        member: a.member || b.member,
                        below: a.below.union(b.below),
                    }));
                }
            }
        }
        nodes.extend(left);
        nodes.extend(right);
        Self { nodes }
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        let mut nodes = Vec::new();
        let mut theirs = Alongside::new(other);
        for a in &self.nodes {
            if let Some(b) = theirs.at(&a.element) {
                let below = a.below.intersection(&b.below);
                push(&mut nodes, &a.element, a.member && b.member, below);
            }
        }
        Self { nodes }
    }

    /// The paths that are not in `other`.
    pub(super) fn difference(mut self, other: &Self) -> Self {
        let mut theirs = Alongside::new(other);
        self.nodes.retain_mut(|a| {
            let Some(b) = theirs.at(&a.element) else {
                return true;
            };
            a.member &= !b.member;
            a.below = std::mem::take(&mut a.below).difference(&b.below);
            a.member || !a.below.is_empty()
        });
        self
    }

    /// The paths that are not in `other`, nor below a path that is.
    pub(super) fn without_all_below(mut self, other: &Self) -> Self {
        let mut theirs = Alongside::new(other);
        self.nodes.retain_mut(|a| {
            let Some(b) = theirs.at(&a.element) else {
                return true;
            };
            if b.member {
                return false;
            }
            a.below = std::mem::take(&mut a.below).without_all_below(&b.below);
            a.member || !a.below.is_empty()
        });
        self
    }

    fn find(&self, element: &Element) -> Result<usize, usize> {
        self.nodes
            .binary_search_by(|node| node.element.cmp(element))
    }
}

/// Finds the nodes of a set while those of another are gone through in order.
struct Alongside<'a>(std::iter::Peekable<std::slice::Iter<'a, Node>>);

impl<'a> Alongside<'a> {
    fn new(set: &'a Set) -> Self {
        Self(set.nodes.iter().peekable())
    }

    fn at(&mut self, element: &Element) -> Option<&'a Node> {
        loop {
            match self.0.peek()?.element.cmp(element) {
                Ordering::Less => self.0.next(),
                Ordering::Equal => return self.0.next(),
                Ordering::Greater => return None,
            };
        }
    }
}

/// Adds a node, unless nothing is in it.
pub(super) fn push(nodes: &mut Vec<Node>, element: &Element, member: bool, below: Set) {
    if member || !below.is_empty() {
        nodes.push(Node {
            element: element.clone(),
            member,
            below,
        });
    }
}
