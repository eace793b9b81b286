//! A ReplicaSet as its Deployment sees it.

use super::annotations::{DESIRED, HASH_LABEL, MOST, annotation, set_annotation};
use std::cmp::Ordering;

use serde_json::Value;

use super::super::super::client::{Failure, REPLICA_SETS, Who};
use super::super::super::object::{Item, map, number, text};
use super::super::super::work::Context;

/// One set.
#[derive(Clone, Debug)]
pub(super) struct ReplicaSet {
    pub(super) value: Value,
}

pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";

impl ReplicaSet {
    pub(super) fn new(value: Value) -> Self {
        Self { value }
    }

    pub(super) fn of(item: &Item) -> Self {
        Self::new(item.object.value())
    }

    pub(super) fn name(&self) -> &str {
        text(&self.value, "/metadata/name")
    }

    /// How many pods it shall have.
    pub(super) fn wanted(&self) -> i64 {
        number(&self.value, "/spec/replicas")
    }

    /// How many pods it has.
    pub(super) fn replicas(&self) -> i64 {
        number(&self.value, "/status/replicas")
    }

    pub(super) fn available(&self) -> i64 {
        number(&self.value, "/status/availableReplicas")
    }

    pub(super) fn revision(&self) -> i64 {
        annotation(&self.value, REVISION)
            .parse()
            .unwrap_or_default()
    }

    /// Older sets first.
    pub(super) fn by_age(a: &Self, b: &Self) -> Ordering {
        let age = |set: &Self| {
            let made = text(&set.value, "/metadata/creationTimestamp").to_owned();
            (made, set.name().to_owned())
        };
        age(a).cmp(&age(b))
    }

    /// Whether its pods are of this template.
    pub(super) fn is_of(&self, template: &Value) -> bool {
        without_hash(&self.value["spec"]["template"]) == without_hash(template)
    }

    /// Replaces the stored set, and this one with what is stored.
    pub(super) async fn write(
        &mut self,
        cx: &Context,
        who: Who<'_>,
        changed: Value,
    ) -> Result<(), Failure> {
        self.value = cx.client.update(who, &REPLICA_SETS, &changed).await?;
        Ok(())
    }
}

fn without_hash(template: &Value) -> Value {
    let mut template = template.clone();
    if let Some(Value::Object(labels)) = template.pointer_mut("/metadata/labels") {
        labels.remove(HASH_LABEL);
    }
    template
}

pub(super) fn forget(object: &mut Value, name: &str) {
    if let Value::Object(members) = object {
        members.remove(name);
    }
}

/// Gives a set the annotations of its Deployment and, if it is higher, a revision.
pub(super) fn annotate(set: &mut Value, deployment: &Value, revision: i64) {
    /// What the two do not share.
    const OWN: [&str; 6] = [
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        HISTORY,
        DESIRED,
        MOST,
        "deprecated.deployment.rollback.to",
    ];
    const LONGEST: usize = 2000;
    for (name, value) in map(deployment, "/metadata/annotations") {
        if !OWN.contains(&name.as_str()) {
            set_annotation(set, &name, value.as_str().unwrap_or_default());
        }
    }
    let old = annotation(set, REVISION).to_owned();
    let Ok(number) = (if old.is_empty() { "0" } else { &old }).parse::<i64>() else {
        return;
    };
    if number >= revision {
        return;
    }
    set_annotation(set, REVISION, &revision.to_string());
    if old.is_empty() {
        return;
    }
    // The revisions that it had before, the oldest given up where they become too many.
    let mut history: Vec<String> = annotation(set, HISTORY)
        .split(',')
        .filter(|revision| !revision.is_empty())
        .map(str::to_owned)
        .collect();
    history.push(old);
    while history.join(",").len() > LONGEST {
        history.remove(0);
    }
    set_annotation(set, HISTORY, &history.join(","));
}
