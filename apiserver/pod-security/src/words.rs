//! The wording that messages of checks have in common.

use std::collections::BTreeSet;

/// `"a", "b"`.
pub(crate) fn quoted<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let items: Vec<String> = items
        .into_iter()
        .map(|item| format!("\"{item}\""))
        .collect();
    items.join(", ")
}

/// A word with an `s` behind it, unless it is about one thing.
pub(crate) fn plural(word: &str, count: usize) -> String {
    if count == 1 {
        word.to_owned()
    } else {
        format!("{word}s")
    }
}

/// `container "a"` or `containers "a", "b"`.
pub(crate) fn containers(names: &[&str]) -> String {
    let word = plural("container", names.len());
    format!("{word} {}", quoted(names.iter().copied()))
}

/// A verb that is about one thing or several: `uses`, `use`.
pub(crate) fn uses(count: usize) -> &'static str {
    if count == 1 { "uses" } else { "use" }
}

/// The pod, the containers, or both: who sets something.
pub(crate) fn setters(pod: bool, names: &[&str]) -> Option<String> {
    let containers = (!names.is_empty()).then(|| containers(names));
    match (pod, containers) {
        (false, containers) => containers,
        (true, None) => Some("pod".to_owned()),
        (true, Some(containers)) => Some(format!("pod and {containers}")),
    }
}

/// A sorted set, quoted.
pub(crate) fn quoted_set(items: &BTreeSet<&str>) -> String {
    quoted(items.iter().copied())
}
