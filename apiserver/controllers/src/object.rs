//! The fields of objects that controllers read often, decoded once when the object changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_storage::Object;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A stored object with the facts about it that decide what controllers do.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) table: Arc<str>,
    pub(super) object: Arc<Object>,
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) meta: Meta,
    /// The facts about a pod, if it is one.
    pub(super) pod: PodFacts,
    /// The selector of a Service that has one.
    pub(super) selector: Option<BTreeMap<String, String>>,
}

/// The metadata that controllers read.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Meta {
    pub(super) uid: String,
    pub(super) creation_timestamp: String,
    pub(super) deletion_timestamp: Option<String>,
    pub(super) deletion_grace_period_seconds: Option<u32>,
    pub(super) finalizers: Vec<String>,
    pub(super) owner_references: Vec<Owner>,
}

/// One owner reference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Owner {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) controller: bool,
    pub(super) block_owner_deletion: bool,
}

/// The fields of a pod that controllers read; empty for other objects.
#[derive(Debug, Default)]
pub(super) struct PodFacts {
    pub(super) node: String,
    pub(super) phase: String,
    /// The node that other pods leave for it.
    pub(super) nominated_node: String,
    pub(super) ready: bool,
    /// When it became ready.
    pub(super) ready_since: String,
    /// When it became ready or unready.
    pub(super) ready_changed: String,
    pub(super) restarts: u64,
    /// Since when it is about to be disrupted, if it is and not by its kubelet.
    pub(super) disrupted_since: String,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) hostname: String,
    pub(super) subdomain: String,
    pub(super) addresses: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ServiceEnvelope {
    spec: ServiceSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ServiceSpec {
    selector: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Envelope {
    api_version: String,
    kind: String,
    metadata: Meta,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodEnvelope {
    metadata: PodMeta,
    spec: PodSpec,
    status: PodStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodMeta {
    annotations: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodSpec {
    node_name: String,
    hostname: String,
    subdomain: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodStatus {
    phase: String,
    nominated_node_name: String,
    conditions: Vec<Condition>,
    container_statuses: Vec<ContainerStatus>,
    #[serde(rename = "podIPs")]
    pod_ips: Vec<PodIp>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodIp {
    ip: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Condition {
    #[serde(rename = "type")]
    what: String,
    status: String,
    reason: String,
    last_transition_time: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ContainerStatus {
    restart_count: u64,
}

/// The finalizer of foreground deletion: the object waits until its dependents are deleted.
pub(super) const FOREGROUND: &str = "foregroundDeletion";

/// The finalizer of orphaning: the dependents stay.
pub(super) const ORPHAN: &str = "orphan";

impl Item {
    pub(super) fn new(table: &Arc<str>, object: Arc<Object>) -> Self {
        // The store holds validated objects; the metadata of a custom resource of another form is ignored.
        let envelope: Envelope = serde_json::from_slice(object.json()).unwrap_or_default();
        let pod = if &**table == "pods" {
            PodFacts::of(&object)
        } else {
            PodFacts::default()
        };
        let selector = if &**table == "services" {
            let service: ServiceEnvelope =
                serde_json::from_slice(object.json()).unwrap_or_default();
            service.spec.selector
        } else {
            None
        };
        Self {
            table: table.clone(),
            api_version: envelope.api_version,
            kind: envelope.kind,
            meta: envelope.metadata,
            pod,
            selector,
            object,
        }
    }

    pub(super) fn namespace(&self) -> &str {
        self.object.namespace()
    }

    pub(super) fn name(&self) -> &str {
        self.object.name()
    }

    /// Whether the object is being deleted.
    pub(super) fn is_deleting(&self) -> bool {
        self.meta.deletion_timestamp.is_some()
    }

    pub(super) fn has_finalizer(&self, name: &str) -> bool {
        self.meta.finalizers.iter().any(|known| known == name)
    }

    /// Whether the object is in foreground deletion: it waits until its dependents are deleted.
    pub(super) fn is_deleting_dependents(&self) -> bool {
        self.is_deleting() && self.has_finalizer(FOREGROUND)
    }

    /// Whether the object is being deleted and waits until its dependents no longer name it as an owner.
    pub(super) fn is_orphaning(&self) -> bool {
        self.is_deleting() && self.has_finalizer(ORPHAN)
    }

    /// The owner reference of the object's controller.
    pub(super) fn controller(&self) -> Option<&Owner> {
        self.meta
            .owner_references
            .iter()
            .find(|owner| owner.controller)
    }

    pub(super) fn is_controlled_by(&self, uid: &str) -> bool {
        self.controller().is_some_and(|owner| owner.uid == uid)
    }

    /// Whether a pod has not finished and is not being deleted.
    pub(super) fn is_active_pod(&self) -> bool {
        !self.has_finished() && !self.is_deleting()
    }

    /// Whether a pod has finished: its phase is `Succeeded` or `Failed`.
    pub(super) fn has_finished(&self) -> bool {
        matches!(self.pod.phase.as_str(), "Succeeded" | "Failed")
    }
}

impl PodFacts {
    fn of(object: &Object) -> Self {
        let PodEnvelope {
            metadata,
            spec,
            status,
        } = serde_json::from_slice(object.json()).unwrap_or_default();
        let (mut ready, mut disrupted_since) = (Condition::default(), String::new());
        for condition in status.conditions {
            match condition.what.as_str() {
                "Ready" => ready = condition,
                "DisruptionTarget"
                    if condition.status == "True" && condition.reason != "TerminationByKubelet" =>
                {
                    disrupted_since = condition.last_transition_time;
                }
                _ => {}
            }
        }
        let is_ready = ready.status == "True";
        let ready_changed = ready.last_transition_time;
        Self {
            node: spec.node_name,
            phase: status.phase,
            nominated_node: status.nominated_node_name,
            ready: is_ready,
            ready_since: if is_ready {
                ready_changed.clone()
            } else {
                String::new()
            },
            ready_changed,
            restarts: status
                .container_statuses
                .iter()
                .map(|container| container.restart_count)
                .max()
                .unwrap_or_default(),
            disrupted_since,
            annotations: metadata.annotations,
            hostname: spec.hostname,
            subdomain: spec.subdomain,
            addresses: status.pod_ips.into_iter().map(|own| own.ip).collect(),
        }
    }
}

/// The integer at a JSON pointer; 0 if it is missing.
pub(super) fn number(object: &Value, pointer: &str) -> i64 {
    object
        .pointer(pointer)
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// The string at a JSON pointer; empty if it is missing.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The boolean at a JSON pointer; false if it is missing.
pub(super) fn flag(object: &Value, pointer: &str) -> bool {
    object
        .pointer(pointer)
        .and_then(Value::as_bool)
        .unwrap_or_default()
}

/// The list at a JSON pointer; empty if it is missing.
pub(super) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The map at a JSON pointer; empty if it is missing.
pub(super) fn map(object: &Value, pointer: &str) -> Map<String, Value> {
    object
        .pointer(pointer)
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default()
}

/// The owner reference of a controller.
pub(super) fn controlled_by(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// A pod from a template, with the owner as its controller.
pub(super) fn pod_of(template: &Value, owner: &Value) -> Value {
    let mut metadata = Map::new();
    for name in ["labels", "annotations", "finalizers"] {
        if let Some(value) = template["metadata"].get(name) {
            metadata.insert(name.to_owned(), value.clone());
        }
    }
    let prefix = format!("{}-", text(owner, "/metadata/name"));
    metadata.insert("generateName".to_owned(), prefix.into());
    metadata.insert(
        "ownerReferences".to_owned(),
        Value::Array(vec![controlled_by(owner)]),
    );
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": template["spec"],
    })
}
