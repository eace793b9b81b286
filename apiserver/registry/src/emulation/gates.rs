//! The feature gates that an older version has closed, and the fields that are behind them.

use std::sync::LazyLock;

use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::paths;

const TABLE: &str = include_str!("gates.txt");

/// A feature gate with its fields of one kind.
#[derive(Debug)]
struct Gate {
    /// The first version in which it is open.
    since: KubernetesVersion,
    /// The group and the kind; none for every kind with the spec of a pod.
    kind: Option<(&'static str, &'static str)>,
    fields: Vec<&'static str>,
    /// How the newest version fills the fields in.
    filled: Filled,
}

/// Who fills in the fields of a gate that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filled {
    /// The client alone.
    No,
    /// The defaults.
    Defaulted,
    /// The server, when it prepares an object for a write. Until then clients alone do.
    Prepared,
    /// The client alone; a change of the object keeps them.
    Kept,
    /// The client alone; a new object keeps them.
    KeptAtFirst,
}

/// A gate that is closed for a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closed {
    gate: &'static Gate,
    /// The path to what has the fields; empty for the object itself.
    below: &'static [&'static str],
}

impl Closed {
    /// Takes the fields out of an object, unless an older form of it has one of them.
    pub(super) fn close(&self, object: &mut Value, old: &Value) {
        let below = |value| {
            self.below
                .iter()
                .fold(value, |part, field| Value::at(part, field))
        };
        let is_in_use = |field: &&str| paths::has(below(old), field);
        if self.gate.fields.iter().any(is_in_use) {
            return;
        }
        let part = self
            .below
            .iter()
            .try_fold(object, |part, field| part.existing(field));
        if let Some(part) = part {
            for field in &self.gate.fields {
                paths::drop(part, field);
            }
        }
    }

    /// Whether the gate takes fields out of a new object, or of a change of an old one.
    pub(super) fn is_of(&self, old: &Value) -> bool {
        match self.gate.filled {
            Filled::No | Filled::Defaulted => true,
            Filled::Kept => old.is_null(),
            Filled::KeptAtFirst => !old.is_null(),
            Filled::Prepared => false,
        }
    }

    /// The fields of the object itself, if the newest version fills them in so.
    pub(super) fn filled(&self, how: Filled) -> impl Iterator<Item = &'static str> {
        let fields = (self.gate.filled == how).then_some(&self.gate.fields);
        fields.into_iter().flatten().copied()
    }
}

/// The gates of a kind that a version has closed.
pub(super) fn closed(group: &str, kind: &str, version: KubernetesVersion) -> Vec<Closed> {
    static GATES: LazyLock<Vec<Gate>> = LazyLock::new(|| {
        let lines = TABLE.lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(gate).collect()
    });
    let later = GATES.iter().filter(|gate| gate.since > version);
    let of_kind = later.filter_map(|gate| {
        let below = match gate.kind {
            Some(own) => (own == (group, kind)).then_some(&[][..])?,
            None => pod_spec(group, kind)?,
        };
        Some(Closed { gate, below })
    });
    of_kind.collect()
}

fn gate(line: &'static str) -> Gate {
    let mut words = line.split_whitespace().peekable();
    let mut word = || {
        words
            .next()
            .expect("a gate has version, name, kind and fields")
    };
    let (since, _name, kind) = (word(), word(), word());
    Gate {
        since: since.parse().expect("a version that can be emulated"),
        kind: match kind {
            "pods" => None,
            kind => Some(kind.split_once('/').expect("a group, a slash and a kind")),
        },
        filled: match words.next_if(|word| matches!(*word, "nodefault" | "own" | "new" | "change"))
        {
            Some("nodefault") => Filled::Defaulted,
            Some("new") => Filled::Kept,
            Some("change") => Filled::KeptAtFirst,
            Some(_) => Filled::Prepared,
            None => Filled::No,
        },
        fields: words.collect(),
    }
}

/// The path to the spec of the pods that a kind makes.
pub(super) fn pod_spec(group: &str, kind: &str) -> Option<&'static [&'static str]> {
    Some(match (group, kind) {
        ("", "Pod") => &["spec"],
        ("", "PodTemplate") => &["template", "spec"],
        ("batch", "CronJob") => &["spec", "jobTemplate", "spec", "template", "spec"],
        ("", "ReplicationController")
        | ("apps", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet")
        | ("batch", "Job") => &["spec", "template", "spec"],
        _ => return None,
    })
}

/// The kinds in the table.
#[cfg(test)]
pub(super) fn kinds() -> Vec<(&'static str, &'static str)> {
    let lines = TABLE.lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(|line| gate(line).kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Versions;
    use crate::testing::registry;

    #[test]
    fn each_gate_is_of_a_kind_that_is_served() {
        let lines = TABLE
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty());
        for gate in lines.map(gate) {
            let Some((group, kind)) = gate.kind else {
                continue;
            };
            let mut all = registry(Versions::Default).all();
            assert!(
                all.any(|resource| resource.group == group && resource.kind == kind),
                "{gate:?}"
            );
        }
    }
}
