//! `fieldsV1`: the JSON form of a set of paths in `managedFields`.

use serde_json::{Map, Value};

use super::element::Element;
use super::set::{Node, Set};

/// Formats a set as JSON: `{"f:spec":{"f:replicas":{}}}`; `.` marks a path that is in the set and has paths below it.
pub(super) fn write(set: &Set) -> Value {
    let members = set.nodes().iter().map(|node| {
        let mut below = match write(&node.below) {
            Value::Object(below) => below,
            _ => Map::new(),
        };
        if node.member && !below.is_empty() {
            below.insert(".".to_owned(), Value::Object(Map::new()));
        }
        (node.element.to_text(), Value::Object(below))
    });
    Value::Object(members.collect())
}

/// Parses a set.
pub(super) fn read(value: &Value) -> Result<Set, String> {
    match value {
        Value::Null => Ok(Set::default()),
        Value::Object(members) => Ok(read_members(members)?.0),
        other => Err(format!("fields are an object, not {other}")),
    }
}

/// Parses the paths below a path; returns them, and whether the path itself is in the set.
fn read_members(members: &Map<String, Value>) -> Result<(Set, bool), String> {
    let mut member = false;
    let mut nodes: Vec<Node> = Vec::with_capacity(members.len());
    for (name, value) in members {
        if name == "." {
            member = true;
            continue;
        }
        let Some(element) = Element::parse(name)? else {
            continue;
        };
        let (below, member) = match value {
            Value::Object(members) => read_members(members)?,
            _ => (Set::default(), true),
        };
        nodes.push(Node {
            element,
            member,
            below,
        });
    }
    // Two strings may denote the same element.
    nodes.sort_by(|a, b| a.element.cmp(&b.element));
    nodes.dedup_by(|later, kept| {
        let same = later.element == kept.element;
        if same {
            kept.member |= later.member;
            let (mine, theirs) = (&mut kept.below, &mut later.below);
            *mine = std::mem::take(mine).union(std::mem::take(theirs));
        }
        same
    });
    // A path without paths below it is in the set.
    let leaf = nodes.is_empty();
    Ok((Set::of_nodes(nodes), member || leaf))
}
