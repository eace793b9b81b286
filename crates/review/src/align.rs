//! Which element of a list became which: by Kubernetes' list-map keys, by name, by equality, by position.

use std::collections::HashMap;

use crate::image::{Kind, Node};

/// The keys of lists whose elements have an identity other than `name`, by the name of the list's field.
///
/// From the `x-kubernetes-list-map-keys` and `x-kubernetes-patch-merge-key` of the Kubernetes API. A list has several rows
/// where several types use its name; the first row whose first key every element has is taken.
const KEYS: &[(&str, &[&str])] = &[
    ("addresses", &["type", "address"]),
    ("auditAnnotations", &["key"]),
    ("conditions", &["type"]),
    ("envFrom", &["prefix"]),
    ("hostAliases", &["ip"]),
    ("hostIPs", &["ip"]),
    ("items", &["key"]),
    ("items", &["path"]),
    ("matchExpressions", &["key"]),
    ("ownerReferences", &["uid"]),
    ("podIPs", &["ip"]),
    ("ports", &["containerPort", "protocol"]),
    ("ports", &["port", "protocol"]),
    ("taints", &["key", "effect"]),
    (
        "topologySpreadConstraints",
        &["topologyKey", "whenUnsatisfiable"],
    ),
    ("volumeDevices", &["devicePath"]),
    ("volumeMounts", &["mountPath"]),
];

/// For each element after, the position that it had before, if it was there.
pub(crate) fn align(field: &str, before: &[Node<'_>], after: &[Node<'_>]) -> Vec<Option<usize>> {
    let objects = before
        .iter()
        .chain(after)
        .all(|node| node.kind() == Kind::Map);
    let keys = objects.then(|| keys(field, before, after)).flatten();
    if let Some(keys) = keys {
        return matched(before, after, |node| identity(node, keys));
    }
    let mut found = matched(before, after, |node| node);
    let mut taken = vec![false; before.len()];
    for position in found.iter().flatten() {
        taken[*position] = true;
    }
    if objects {
        pair_all(&mut found, &taken);
    } else {
        pair_neighbours(&mut found, &mut taken);
    }
    found
}

/// Pairs what is left in its order. Objects carry fields that the type does not know, so this is done only if none was added
/// or removed.
fn pair_all(found: &mut [Option<usize>], taken: &[bool]) {
    let left: Vec<_> = (0..taken.len()).filter(|place| !taken[*place]).collect();
    let missing = found.iter().filter(|place| place.is_none()).count();
    if left.len() == missing {
        let missing = found.iter_mut().filter(|place| place.is_none());
        for (place, left) in missing.zip(left) {
            *place = Some(left);
        }
    }
}

/// Pairs what follows one and the same element. Scalars carry nothing, and one that changed in its place is better replaced
/// than removed and added.
fn pair_neighbours(found: &mut [Option<usize>], taken: &mut [bool]) {
    let mut next = 0;
    for place in found {
        if place.is_none() && taken.get(next) == Some(&false) {
            taken[next] = true;
            *place = Some(next);
        }
        if let Some(place) = place {
            next = *place + 1;
        }
    }
}

fn keys(field: &str, before: &[Node<'_>], after: &[Node<'_>]) -> Option<&'static [&'static str]> {
    let everywhere = |key: &str| {
        before.iter().chain(after).all(|node| {
            node.member(key)
                .is_some_and(|value| value.kind() < Kind::List)
        })
    };
    let start = KEYS.partition_point(|(name, _)| *name < field);
    KEYS[start..]
        .iter()
        .take_while(|(name, _)| *name == field)
        .map(|(_, keys)| *keys)
        .chain([&["name"] as &[&str]])
        .find(|keys| everywhere(keys[0]))
}

/// What an element is known by. A protocol is TCP unless it says otherwise.
fn identity<'i>(node: Node<'i>, keys: &[&str]) -> [Option<Node<'i>>; 2] {
    const TCP: &[u8] = b"\x06\x03\x00\x00\x00TCP";
    [keys.first(), keys.get(1)].map(|key| {
        let key = key?;
        node.member(key)
            .or_else(|| (*key == "protocol").then(|| Node::new(TCP, &[])))
    })
}

/// Pairs elements of one identity, the first with the first, the second with the second.
fn matched<'i, I: Eq + std::hash::Hash>(
    before: &[Node<'i>],
    after: &[Node<'i>],
    identity: impl Fn(Node<'i>) -> I,
) -> Vec<Option<usize>> {
    let mut places: HashMap<I, Vec<usize>> = HashMap::with_capacity(before.len());
    for (position, node) in before.iter().enumerate().rev() {
        places.entry(identity(*node)).or_default().push(position);
    }
    after
        .iter()
        .map(|node| places.get_mut(&identity(*node))?.pop())
        .collect()
}

/// The largest set of elements that need not move: for each element after, whether it stays.
pub(crate) fn staying(places: &[Option<usize>]) -> Vec<bool> {
    // Patience sorting: `tails[n]` is the element with the smallest place that ends an increasing run of n + 1.
    let mut tails: Vec<usize> = Vec::new();
    let mut previous = vec![None; places.len()];
    for (element, place) in places.iter().enumerate() {
        let Some(place) = place else { continue };
        let run = tails.partition_point(|tail| places[*tail] < Some(*place));
        previous[element] = run.checked_sub(1).map(|run| tails[run]);
        if run == tails.len() {
            tails.push(element);
        } else {
            tails[run] = element;
        }
    }
    let mut stays = vec![false; places.len()];
    let mut element = tails.last().copied();
    while let Some(at) = element {
        stays[at] = true;
        element = previous[at];
    }
    stays
}
