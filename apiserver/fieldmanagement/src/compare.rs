//! What changed between two states of an object.

use serde_json::{Map, Value};

use super::element::{Element, equal};
use super::set::{Node, Set, push};
use super::shape::{Atom, Items, List, Members, Shape};

/// What changed between two states of an object.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) added: Set,
    pub(super) modified: Set,
    pub(super) removed: Set,
}

/// Compares two states of an object.
pub(super) fn compare(shape: Shape<'_>, old: &Value, new: &Value) -> Comparison {
    let mut found = Found::default();
    walk(shape, Some(old), Some(new), &mut found);
    Comparison {
        added: Set::of_nodes(found.added),
        modified: Set::of_nodes(found.modified),
        removed: Set::of_nodes(found.removed),
    }
}

/// The paths to what is added or modified of one member that both states have.
pub(super) fn compare_member(of: Members<'_>, name: &str, old: &Value, new: &Value) -> Set {
    let mut found = Found::default();
    if let Some((shape, _)) = of.get(name) {
        found.descend(&of.element(name), shape, Some(old), Some(new));
    }
    Set::of_nodes(found.modified).union(Set::of_nodes(found.added))
}

impl Comparison {
    /// The comparison without what is in `ignored` or below.
    pub(super) fn without(self, ignored: &Set) -> Self {
        Self {
            added: self.added.without_all_below(ignored),
            modified: self.modified.without_all_below(ignored),
            removed: self.removed.without_all_below(ignored),
        }
    }
}

/// What was found below a place.
#[derive(Debug, Default)]
struct Found {
    added: Vec<Node>,
    modified: Vec<Node>,
    removed: Vec<Node>,
}

/// What was found of a place itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    None,
    Added,
    Modified,
    Removed,
}

impl Found {
    /// Compares what stands at an element and adds what is found.
    fn descend(
        &mut self,
        element: &Element,
        shape: Shape<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
    ) {
        let mut below = Self::default();
        let change = walk(shape, old, new, &mut below);
        self.take(element, change, below);
    }

    fn take(&mut self, element: &Element, change: Change, below: Self) {
        let list = |list: &mut Vec<Node>, member, below: Vec<Node>| {
            push(list, element, member, Set::of_nodes(below));
        };
        list(&mut self.added, change == Change::Added, below.added);
        list(
            &mut self.modified,
            change == Change::Modified,
            below.modified,
        );
        list(&mut self.removed, change == Change::Removed, below.removed);
    }
}

/// Compares what stands at a place; what is found below it goes to `found`.
fn walk(shape: Shape<'_>, old: Option<&Value>, new: Option<&Value>, found: &mut Found) -> Change {
    if let (None, Some(new)) = (old, new) {
        found.added = everything(shape, new);
        return Change::Added;
    }
    match (shape.atom(old), shape.atom(new)) {
        (mine, theirs) if old.is_some() && new.is_some() && !alike(mine, theirs) => {
            // Another kind of value: the old one ends as a whole, what is in the new one is new.
            let first = of_atom(mine, old, new, found);
            let second = of_atom(theirs, old, new, found);
            if first == Change::None { second } else { first }
        }
        (atom, _) if new.is_none() => of_atom(atom, old, new, found),
        (_, atom) => of_atom(atom, old, new, found),
    }
}

/// Every path below a value that was not there before.
fn everything(shape: Shape<'_>, value: &Value) -> Vec<Node> {
    let node = |element, shape, value: Option<&Value>| Node {
        element,
        member: true,
        below: value.map_or_else(Set::default, |value| {
            Set::of_nodes(everything(shape, value))
        }),
    };
    match (shape.atom(Some(value)), value) {
        (Atom::List(list), Value::Array(items)) if !matches!(list.items, Items::Atomic) => {
            let groups = grouped(list, items).into_iter();
            groups
                .map(|(element, items)| {
                    // Items that cannot be told apart are compared as a whole.
                    let only = (items.len() == 1).then(|| items[0]);
                    node(element, list.item(), only)
                })
                .collect()
        }
        (Atom::Map(members), Value::Object(of)) if !members.atomic => of
            .iter()
            .filter_map(|(name, value)| {
                let (shape, _) = members.get(name)?;
                Some(node(members.element(name), shape, Some(value)))
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn alike(a: Atom<'_>, b: Atom<'_>) -> bool {
    std::mem::discriminant(&a) == std::mem::discriminant(&b)
}

fn of_atom(atom: Atom<'_>, old: Option<&Value>, new: Option<&Value>, found: &mut Found) -> Change {
    match atom {
        Atom::Scalar(_) => leaf(old, new),
        Atom::List(list) => {
            let (a, b) = (items(old), items(new));
            if matches!(list.items, Items::Atomic) || a.is_empty() && b.is_empty() {
                return leaf(old, new);
            }
            of_items(list, a, b, found);
            presence(old, new)
        }
        Atom::Map(members) => {
            let (a, b) = (object(old), object(new));
            let nothing = |map: Option<&Map<String, Value>>| map.is_none_or(Map::is_empty);
            if members.atomic || nothing(a) && nothing(b) {
                return leaf(old, new);
            }
            of_members(members, a, b, found);
            presence(old, new)
        }
    }
}

fn leaf(old: Option<&Value>, new: Option<&Value>) -> Change {
    match (old, new) {
        (Some(old), Some(new)) if !equal(old, new) => Change::Modified,
        _ => presence(old, new),
    }
}

fn presence(old: Option<&Value>, new: Option<&Value>) -> Change {
    match (old, new) {
        (None, Some(_)) => Change::Added,
        (Some(_), None) => Change::Removed,
        _ => Change::None,
    }
}

fn of_members(
    members: Members<'_>,
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
    found: &mut Found,
) {
    let empty = Map::new();
    let (old, new) = (old.unwrap_or(&empty), new.unwrap_or(&empty));
    for (name, value) in new {
        if let Some((shape, _)) = members.get(name) {
            let before = old.get(name);
            if before.is_some_and(|before| std::ptr::eq(before, value)) {
                continue;
            }
            found.descend(&members.element(name), shape, before, Some(value));
        }
    }
    for (name, value) in old.iter().filter(|(name, _)| !new.contains_key(*name)) {
        if let Some((shape, _)) = members.get(name) {
            found.descend(&members.element(name), shape, Some(value), None);
        }
    }
}

fn of_items(list: List<'_>, old: &[Value], new: &[Value], found: &mut Found) {
    let (old, new) = (grouped(list, old), grouped(list, new));
    let of = |groups: &[(Element, Vec<&'_ Value>)], element: &Element| {
        groups
            .binary_search_by(|(other, _)| other.cmp(element))
            .ok()
    };
    for (element, after) in &new {
        let before: &[&Value] = of(&old, element).map_or(&[], |at| &old[at].1);
        compare_groups(list, element, before, after, found);
    }
    for (element, before) in &old {
        if of(&new, element).is_none() {
            compare_groups(list, element, before, &[], found);
        }
    }
}

/// Compares the items of one key; more than one of a key are compared as a whole.
fn compare_groups(
    list: List<'_>,
    element: &Element,
    old: &[&Value],
    new: &[&Value],
    found: &mut Found,
) {
    let shape = list.item();
    match (old, new) {
        ([] | [_], [] | [_]) => {
            found.descend(element, shape, old.first().copied(), new.first().copied());
        }
        ([_, _, ..], [_, _, ..]) => {
            let same = old.len() == new.len() && old.iter().zip(new).all(|(a, b)| equal(a, b));
            let change = if same { Change::None } else { Change::Modified };
            found.take(element, change, Found::default());
        }
        ([_, _, ..], _) => {
            let mut below = Found::default();
            let change = match new.first() {
                Some(new) => walk(shape, None, Some(new), &mut below),
                None => Change::None,
            };
            found.take(element, change, below);
            found.take(element, Change::Removed, Found::default());
        }
        (_, [_, _, ..]) => {
            let mut below = Found::default();
            let change = match old.first() {
                Some(old) => walk(shape, Some(old), None, &mut below),
                None => Change::None,
            };
            found.take(element, change, below);
            found.take(element, Change::Added, Found::default());
        }
    }
}

/// The items by element; items that have none are left out.
fn grouped<'v>(list: List<'_>, items: &'v [Value]) -> Vec<(Element, Vec<&'v Value>)> {
    let mut groups: Vec<(Element, Vec<&Value>)> = Vec::with_capacity(items.len());
    let keyed = items
        .iter()
        .filter_map(|item| Some((list.element(item).ok()?, item)));
    let mut keyed: Vec<_> = keyed.collect();
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    for (element, item) in keyed {
        match groups.last_mut() {
            Some((last, items)) if *last == element => items.push(item),
            _ => groups.push((element, vec![item])),
        }
    }
    groups
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn object(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}
