//! DaemonSets: a pod on every node that takes one.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::super::client::{DAEMON_SETS, Failure, PODS, Who};
use super::super::graph::{Change, Graph};
use super::super::object::{Item, list, map, number, pod_of, text};
use super::super::queue::Next;
use super::super::work::{Context, Controller, Key, Keys, Outcome};
use super::deployments::share;
use super::revisions::{HashLabel, Revisions};
use super::status::{is_available, next_available, set_count};
use super::{affinity, claims, pod_control};

/// The DaemonSet controller.
#[derive(Debug)]
pub(crate) struct DaemonSets;

const TABLE: &str = "daemonsets.apps";
const NAME: &str = "daemon-set-controller";
const WHO: Who<'static> = Who::Controller(NAME);
const HASH_LABEL: HashLabel = HashLabel("controller-revision-hash");

/// What a node has of a set.
#[derive(Debug, Default)]
struct OnNode {
    /// Whether the node shall have a pod.
    wanted: bool,
    /// Its pods, the oldest first.
    pods: Vec<Arc<Item>>,
}

/// A DaemonSet with its pods, as one reconcile sees them.
#[derive(Debug)]
struct Set<'a> {
    cx: &'a Context,
    object: &'a Value,
    hash: &'a str,
    nodes: BTreeMap<String, OnNode>,
}

impl Controller for DaemonSets {
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        if change.is_in(TABLE) {
            change.after.iter().for_each(|item| keys.add(item));
        } else if change.is_in("nodes") {
            for item in graph.list(TABLE, "") {
                keys.add(&item);
            }
        } else if change.is_in("pods") || change.is_in(super::revisions::TABLE) {
            for item in [&change.before, &change.after].into_iter().flatten() {
                keys.add_controller_of(item, graph, TABLE);
            }
            if let Some(item) = &change.after
                && item.controller().is_none()
            {
                for set in graph.list(TABLE, item.namespace()) {
                    keys.add(&set);
                }
            }
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            match cx.item(key) {
                Some(item) if !item.is_deleting() => reconcile(cx, &item).await,
                _ => Ok(Next::Done),
            }
        }
        .boxed()
    }
}

async fn reconcile(cx: &Context, item: &Item) -> Outcome {
    let object = item.object.value();
    let revisions = Revisions::of(cx, WHO, &object, HASH_LABEL).await?;
    let hash = hash_of(&revisions.update).to_owned();
    let pods = claims::claim(cx, WHO, &object, (&PODS, "pods"), |_| true).await?;
    let set = Set::new(cx, &object, &hash, &pods);
    let managed = set.manage().await;
    let status = set.status(&revisions);
    if map(&object, "/status") != status {
        let mut changed = object.clone();
        changed["status"] = Value::Object(status);
        cx.client.update_status(WHO, &DAEMON_SETS, &changed).await?;
    }
    managed?;
    let live: HashSet<&str> = pods.iter().map(|pod| revision_of(pod)).collect();
    let in_use = |revision: &Value| live.contains(hash_of(revision));
    revisions.truncate(cx, WHO, &object, in_use).await?;
    let seconds = number(&object, "/spec/minReadySeconds");
    Ok(next_available(&cx.clock, &pods, seconds).map_or(Next::Done, Next::After))
}

fn hash_of(revision: &Value) -> &str {
    revision["metadata"]["labels"][HASH_LABEL.0]
        .as_str()
        .unwrap_or_default()
}

fn revision_of(pod: &Item) -> &str {
    let label = pod.object.labels().get(HASH_LABEL.0);
    label.unwrap_or_default()
}

/// The node that a pod is bound to or, before it is scheduled, the node that its affinity names.
fn node_of(pod: &Item) -> String {
    if !pod.pod.node.is_empty() {
        return pod.pod.node.clone();
    }
    let pod = pod.object.value();
    let names = pod.pointer(&format!(
        "{REQUIRED}/nodeSelectorTerms/0/matchFields/0/values/0"
    ));
    names.and_then(Value::as_str).unwrap_or_default().to_owned()
}

const REQUIRED: &str = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";

impl<'a> Set<'a> {
    fn new(cx: &'a Context, object: &'a Value, hash: &'a str, pods: &[Arc<Item>]) -> Self {
        let mut nodes: BTreeMap<String, OnNode> = BTreeMap::new();
        let template = pod_of(&object["spec"]["template"], object);
        for node in cx.look(|graph| graph.list("nodes", "")) {
            let wanted = is_wanted(&node.object.value(), &template["spec"]);
            nodes.entry(node.name().to_owned()).or_default().wanted = wanted;
        }
        let mut pods = pods.to_vec();
        pods.sort_by_key(|pod| pod.meta.creation_timestamp.clone());
        for pod in pods {
            nodes.entry(node_of(&pod)).or_default().pods.push(pod);
        }
        Self {
            cx,
            object,
            hash,
            nodes,
        }
    }

    fn is_available(&self, pod: &Item) -> bool {
        let seconds = number(self.object, "/spec/minReadySeconds");
        !pod.is_deleting() && is_available(&self.cx.clock, pod, seconds)
    }

    /// Makes pods that are missing, and ends those that are too many or old.
    async fn manage(&self) -> Result<(), Failure> {
        let mut make: Vec<&str> = Vec::new();
        let mut end: Vec<&Arc<Item>> = Vec::new();
        for (name, node) in &self.nodes {
            if !node.wanted {
                end.extend(node.pods.iter());
                continue;
            }
            let failed = |pod: &&Arc<Item>| pod.has_finished();
            end.extend(node.pods.iter().filter(failed));
            let mut live = node.pods.iter().filter(|pod| !pod.has_finished());
            if live.clone().next().is_none() {
                make.push(name);
            }
            let is_new = |pod: &&Arc<Item>| revision_of(pod) == self.hash;
            // While an update surges, a node has a pod of each template.
            end.extend(live.clone().filter(is_new).skip(1));
            end.extend(live.by_ref().filter(|pod| !is_new(pod)).skip(1));
        }
        if make.is_empty() && end.is_empty() {
            let strategy = text(self.object, "/spec/updateStrategy/type");
            if strategy == "RollingUpdate" {
                self.roll(&mut make, &mut end);
            }
        }
        for pod in end.into_iter().filter(|pod| !pod.is_deleting()) {
            pod_control::delete(self.cx, NAME, self.object, pod).await?;
        }
        let pods: Vec<Value> = make.iter().map(|node| self.pod(node)).collect();
        pod_control::create_many(self.cx, NAME, self.object, &pods).await
    }

    /// Chooses what the next step of a rolling update makes and ends.
    fn roll<'b>(&'b self, make: &mut Vec<&'b str>, end: &mut Vec<&'b Arc<Item>>) {
        let rolling = &self.object["spec"]["updateStrategy"]["rollingUpdate"];
        let wanted = self.nodes.values().filter(|node| node.wanted).count();
        let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
        let surge = share(&rolling["maxSurge"], wanted, true);
        let mut most = share(&rolling["maxUnavailable"], wanted, true);
        if surge == 0 && most == 0 {
            most = 1;
        }
        let (mut unavailable, mut surging) = (0, 0);
        let mut candidates: Vec<(&str, &Arc<Item>)> = Vec::new();
        for (name, node) in self.nodes.iter().filter(|(_, node)| node.wanted) {
            let mut live = node.pods.iter().filter(|pod| !pod.is_deleting());
            let new = live.clone().find(|pod| revision_of(pod) == self.hash);
            let old = live.find(|pod| revision_of(pod) != self.hash);
            match (old, new) {
                (None, None) => unavailable += 1,
                (None, Some(new)) => unavailable += i64::from(!self.is_available(new)),
                (Some(old), None) if !self.is_available(old) => {
                    unavailable += 1;
                    if surge > 0 {
                        make.push(name);
                    } else {
                        end.push(old);
                    }
                }
                (Some(old), None) => candidates.push((name, old)),
                (Some(old), Some(new)) if self.is_available(new) => end.push(old),
                (Some(_), Some(_)) => surging += 1,
            }
        }
        let room = if surge > 0 {
            surge - surging
        } else {
            most - unavailable
        };
        let room = usize::try_from(room).unwrap_or_default();
        for (name, old) in candidates.into_iter().take(room) {
            if surge > 0 {
                make.push(name);
            } else {
                end.push(old);
            }
        }
    }

    /// The pod for a node.
    fn pod(&self, node: &str) -> Value {
        let mut pod = pod_of(&self.object["spec"]["template"], self.object);
        pod["metadata"]["labels"][HASH_LABEL.0] = self.hash.into();
        let generation =
            &self.object["metadata"]["annotations"]["deprecated.daemonset.template.generation"];
        if generation.is_string() {
            pod["metadata"]["labels"]["pod-template-generation"] = generation.clone();
        }
        tolerate(&mut pod["spec"]);
        let on_node = json!([{"key": "metadata.name", "operator": "In", "values": [node]}]);
        let required = pod.pointer_mut(&format!("{REQUIRED}/nodeSelectorTerms"));
        if let Some(Value::Array(terms)) = required {
            for term in terms {
                term["matchFields"] = on_node.clone();
            }
            return pod;
        }
        let affinity = &mut pod["spec"]["affinity"]["nodeAffinity"];
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({"nodeSelectorTerms": [{"matchFields": on_node}]});
        pod
    }

    fn status(&self, revisions: &Revisions) -> Map<String, Value> {
        let [
            mut desired,
            mut current,
            mut astray,
            mut ready,
            mut updated,
            mut available,
        ] = [0; 6];
        for node in self.nodes.values() {
            let Some(pod) = node.pods.first() else {
                desired += i64::from(node.wanted);
                continue;
            };
            if !node.wanted {
                astray += 1;
                continue;
            }
            desired += 1;
            current += 1;
            ready += i64::from(pod.pod.ready);
            available += i64::from(pod.pod.ready && self.is_available(pod));
            updated += i64::from(revision_of(pod) == self.hash);
        }
        let mut status = map(self.object, "/status");
        for (name, number) in [
            ("currentNumberScheduled", current),
            ("numberMisscheduled", astray),
            ("desiredNumberScheduled", desired),
            ("numberReady", ready),
        ] {
            status.insert(name.to_owned(), number.into());
        }
        for (name, number) in [
            (
                "observedGeneration",
                number(self.object, "/metadata/generation"),
            ),
            ("updatedNumberScheduled", updated),
            ("numberAvailable", available),
            ("numberUnavailable", desired - available),
            ("collisionCount", revisions.collisions),
        ] {
            set_count(&mut status, name, number);
        }
        status
    }
}

/// Whether a node shall have a pod of this specification.
fn is_wanted(node: &Value, spec: &Value) -> bool {
    let mut spec = spec.clone();
    tolerate(&mut spec);
    affinity::matches(node, &spec) && affinity::tolerates(node, list(&spec, "/tolerations"))
}

/// Lets a daemon on nodes that are in trouble.
fn tolerate(spec: &mut Value) {
    let mut tolerations = list(spec, "/tolerations").to_vec();
    let host = spec["hostNetwork"] == true;
    for (key, effect) in [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
        ("network-unavailable", "NoSchedule"),
    ] {
        if key == "network-unavailable" && !host {
            continue;
        }
        let toleration = json!({
            "key": format!("node.kubernetes.io/{key}"),
            "operator": "Exists",
            "effect": effect,
        });
        if !tolerations.contains(&toleration) {
            tolerations.push(toleration);
        }
    }
    spec["tolerations"] = tolerations.into();
}
