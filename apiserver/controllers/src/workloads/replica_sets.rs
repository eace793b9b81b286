//! ReplicaSets and ReplicationControllers: as many pods of a template as are wanted.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use serde_json::{Map, Value, json};

use super::super::client::{Api, Failure, PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, Who};
use super::super::graph::{Change, Graph};
use super::super::object::{Item, map, number, pod_of, text};
use super::super::queue::Next;
use super::super::work::{Context, Controller, Key, Keys, Outcome};
use super::status::{
    condition, count, is_available, next_available, put_condition, remove_condition, set_count,
};
use super::{claims, pod_control};

/// The controller of a kind whose objects keep a number of pods. Kubernetes, too, has one controller for both kinds.
#[derive(Debug)]
pub(crate) struct ReplicaSets {
    api: Api,
    table: &'static str,
    name: &'static str,
}

pub(super) const TABLE: &str = "replicasets.apps";

impl ReplicaSets {
    pub(crate) fn of_apps() -> Self {
        Self {
            api: REPLICA_SETS,
            table: TABLE,
            name: "replicaset-controller",
        }
    }

    pub(crate) fn replication_controllers() -> Self {
        Self {
            api: REPLICATION_CONTROLLERS,
            table: "replicationcontrollers",
            name: "replication-controller",
        }
    }

    fn who(&self) -> Who<'_> {
        Who::Controller(self.name)
    }
}

impl Controller for ReplicaSets {
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        if change.is_in(self.table) {
            change.after.iter().for_each(|item| keys.add(item));
            return;
        }
        if !change.is_in("pods") {
            return;
        }
        for pod in [&change.before, &change.after].into_iter().flatten() {
            keys.add_controller_of(pod, graph, self.table);
        }
        // A pod without a controller may be adopted.
        if let Some(pod) = &change.after
            && pod.controller().is_none()
        {
            for item in graph.list(self.table, pod.namespace()) {
                keys.add(&item);
            }
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            match cx.item(key) {
                Some(item) => self.reconcile_item(cx, &item).await,
                None => Ok(Next::Done),
            }
        }
        .boxed()
    }
}

impl ReplicaSets {
    async fn reconcile_item(&self, cx: &Context, item: &Item) -> Outcome {
        let set = item.object.value();
        let pods =
            claims::claim(cx, self.who(), &set, (&PODS, "pods"), Item::is_active_pod).await?;
        let managed = if item.is_deleting() {
            Ok(())
        } else {
            self.manage(cx, &set, &pods).await
        };
        let status = self.status(cx, &set, &pods, managed.as_ref().err());
        if set["status"] != status {
            let mut changed = set.clone();
            changed["status"] = status;
            cx.client
                .update_status(self.who(), &self.api, &changed)
                .await?;
        }
        managed?;
        let seconds = number(&set, "/spec/minReadySeconds");
        Ok(next_available(&cx.clock, &pods, seconds).map_or(Next::Done, Next::After))
    }

    /// Creates pods that are missing and deletes those that are too many, at most so many at once.
    async fn manage(&self, cx: &Context, set: &Value, pods: &[Arc<Item>]) -> Result<(), Failure> {
        const BURST: usize = 500;
        let wanted = usize::try_from(number(set, "/spec/replicas")).unwrap_or_default();
        if pods.len() < wanted {
            let pod = pod_of(&set["spec"]["template"], set);
            let missing = vec![pod; (wanted - pods.len()).min(BURST)];
            return pod_control::create_many(cx, self.name, set, &missing).await;
        }
        let surplus = (pods.len() - wanted).min(BURST);
        if surplus == 0 {
            return Ok(());
        }
        let pods = self.by_worth(cx, set, pods);
        let surplus = pods.iter().take(surplus);
        let deleted = surplus.map(|pod| pod_control::delete(cx, self.name, set, pod));
        join_all(deleted).await.into_iter().collect()
    }

    /// The pods, those that are missed least first.
    fn by_worth(&self, cx: &Context, set: &Value, pods: &[Arc<Item>]) -> Vec<Arc<Item>> {
        let owner = set["metadata"]["ownerReferences"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|owner| owner["controller"] == true)
            .map(|owner| text(owner, "/uid"));
        // Pods of one deployment are related, whichever of its sets they are of.
        let related = cx.look(|graph| {
            let siblings = match owner {
                Some(owner) => graph.controlled(owner, self.table),
                None => Vec::new(),
            };
            let own = text(set, "/metadata/uid").to_owned();
            let uids = siblings.iter().map(|item| item.meta.uid.clone());
            let uids: Vec<String> = if siblings.is_empty() {
                vec![own]
            } else {
                uids.collect()
            };
            uids.iter()
                .flat_map(|uid| graph.controlled(uid, "pods"))
                .filter(|pod| pod.is_active_pod())
                .collect::<Vec<_>>()
        });
        let mut on_node: HashMap<&str, usize> = HashMap::new();
        for pod in &related {
            *on_node.entry(pod.pod.node.as_str()).or_default() += 1;
        }
        let mut sorted = pods.to_vec();
        sorted.sort_by_cached_key(|item| {
            let pod = &item.pod;
            let phase = match pod.phase.as_str() {
                "Pending" => 0,
                "Running" => 2,
                _ => 1,
            };
            let cost: i32 = pod
                .annotations
                .get("controller.kubernetes.io/pod-deletion-cost")
                .and_then(|cost| cost.parse().ok())
                .unwrap_or_default();
            let neighbours = on_node.get(pod.node.as_str()).copied().unwrap_or_default();
            (
                !pod.node.is_empty(),
                phase,
                pod.ready,
                cost,
                Reverse(neighbours),
                Reverse(pod.ready_since.clone()),
                Reverse(pod.restarts),
                Reverse(item.meta.creation_timestamp.clone()),
            )
        });
        sorted
    }

    fn status(
        &self,
        cx: &Context,
        set: &Value,
        pods: &[Arc<Item>],
        failure: Option<&Failure>,
    ) -> Value {
        let mut status = map(set, "/status");
        let labels = map(set, "/spec/template/metadata/labels");
        let seconds = number(set, "/spec/minReadySeconds");
        let wanted = number(set, "/spec/replicas");
        let all = count(pods, |_| true);
        status.insert("replicas".to_owned(), all.into());
        let labeled = count(pods, |pod| {
            let own = pod.object.labels();
            labels
                .iter()
                .all(|(key, value)| own.get(key) == value.as_str())
        });
        set_count(&mut status, "fullyLabeledReplicas", labeled);
        set_count(
            &mut status,
            "readyReplicas",
            count(pods, |pod| pod.pod.ready),
        );
        let available = count(pods, |pod| is_available(&cx.clock, pod, seconds));
        set_count(&mut status, "availableReplicas", available);
        if self.table == TABLE {
            status.insert(
                "terminatingReplicas".to_owned(),
                terminating(cx, set).into(),
            );
        }
        set_count(
            &mut status,
            "observedGeneration",
            number(set, "/metadata/generation"),
        );
        set_failure(cx, &mut status, failure, all < wanted);
        Value::Object(status)
    }
}

fn set_failure(
    cx: &Context,
    status: &mut Map<String, Value>,
    failure: Option<&Failure>,
    too_few: bool,
) {
    const FAILED: &str = "ReplicaFailure";
    match failure {
        None => remove_condition(status, FAILED),
        Some(failure) if condition(status, FAILED).is_none() => {
            let reason = if too_few {
                "FailedCreate"
            } else {
                "FailedDelete"
            };
            put_condition(
                status,
                json!({
                    "type": FAILED,
                    "status": "True",
                    "reason": reason,
                    "message": failure.to_string(),
                    "lastTransitionTime": cx.clock.text(),
                }),
            );
        }
        Some(_) => {}
    }
}

fn terminating(cx: &Context, set: &Value) -> i64 {
    let selector = claims::selector(set).unwrap_or_default();
    let pods = cx.look(|graph| graph.controlled(text(set, "/metadata/uid"), "pods"));
    count(&pods, |pod| {
        pod.is_deleting() && !pod.has_finished() && selector.matches(Some(pod.object.labels()))
    })
}
