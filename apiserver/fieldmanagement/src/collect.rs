//! The paths that a value sets.

use serde_json::Value;

use super::element::Element;
use super::set::{Node, Set};
use super::shape::{Atom, Items, List, Members, Shape};

/// The paths that a value sets: its leaves, its list items and map keys, and what is empty or null.
pub(super) fn collect(shape: Shape<'_>, value: &Value) -> Set {
    paths(shape, value).0
}

/// The set with every struct field in it that leads to a member.
pub(super) fn with_named_fields(set: &Set, shape: Shape<'_>) -> Set {
    let nodes = set.nodes().iter().map(|node| {
        let (below, named) = match (&node.element, shape.atom(None)) {
            (Element::Field(name), Atom::Map(members)) => match members.get(name) {
                Some((shape, named)) => (with_named_fields(&node.below, shape), named),
                None => (node.below.clone(), false),
            },
            (Element::Key(_), Atom::List(list)) => {
                (with_named_fields(&node.below, list.item()), false)
            }
            _ => (node.below.clone(), false),
        };
        Node {
            element: node.element.clone(),
            member: node.member || named && !node.below.is_empty(),
            below,
        }
    });
    Set::of_nodes(nodes.collect())
}

/// The paths below, and whether the value itself is one.
fn paths(shape: Shape<'_>, value: &Value) -> (Set, bool) {
    match (shape.atom(Some(value)), value) {
        (Atom::Scalar(_), _) => (Set::default(), true),
        (Atom::List(list), _) if matches!(list.items, Items::Atomic) => (Set::default(), true),
        (Atom::Map(members), _) if members.atomic => (Set::default(), true),
        (Atom::List(list), Value::Array(items)) => (of_items(list, items), false),
        (Atom::Map(members), Value::Object(of)) => (of_members(members, of), false),
        _ => (Set::default(), false),
    }
}

fn of_items(list: List<'_>, items: &[Value]) -> Set {
    let mut nodes: Vec<Node> = items
        .iter()
        .filter_map(|item| {
            let element = list.element(item).ok()?;
            let below = paths(list.item(), item).0;
            Some(Node {
                element,
                member: true,
                below,
            })
        })
        .collect();
    nodes.sort_by(|a, b| a.element.cmp(&b.element));
    // Items that cannot be told apart are owned together.
    nodes.dedup_by(|later, kept| {
        let same = later.element == kept.element;
        if same {
            kept.below = Set::default();
        }
        same
    });
    Set::of_nodes(nodes)
}

fn of_members(members: Members<'_>, of: &serde_json::Map<String, Value>) -> Set {
    let nodes = of.iter().filter_map(|(name, value)| {
        let (shape, named) = members.get(name)?;
        let (below, leaf) = paths(shape, value);
        let nothing_in_it = match value {
            Value::Null => true,
            Value::Object(of) => of.is_empty(),
            _ => false,
        };
        let member = leaf || nothing_in_it || !named;
        (member || !below.is_empty()).then(|| Node {
            element: members.element(name),
            member,
            below,
        })
    });
    Set::of_nodes(nodes.collect())
}
