//! StatefulSets: pods with names and claims of their own, made and ended in order.

mod replica;

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use serde_json::{Map, Value};

use super::super::client::{Failure, PODS, STATEFUL_SETS};
use super::super::graph::{Change, Graph};
use super::super::object::{Item, map, number, text};
use super::super::queue::Next;
use super::super::work::{Context, Controller, Key, Keys, Outcome};
use super::claims;
use super::revisions::{HashLabel, Revisions, template};
use super::status::{count, is_available, next_available, set_count};
use replica::{REVISION_LABEL, Replica, WHO};

/// The StatefulSet controller.
#[derive(Debug)]
pub(crate) struct StatefulSets;

const TABLE: &str = "statefulsets.apps";
const HASH_LABEL: HashLabel = HashLabel("controller.kubernetes.io/hash");

/// A StatefulSet with its pods, as one reconcile sees and changes it.
#[derive(Debug)]
struct Set<'a> {
    cx: &'a Context,
    object: Value,
    revisions: &'a Revisions,
    /// The revision that a rolling update starts from.
    current: Value,
    /// The places of the set, in order; most of them have a pod.
    replicas: Vec<Replica>,
    /// Pods that the set no longer wants, the last one first.
    condemned: Vec<Arc<Item>>,
}

impl Controller for StatefulSets {
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        if change.is_in(TABLE) {
            change.after.iter().for_each(|item| keys.add(item));
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
                Some(item) => reconcile(cx, &item).await,
                None => Ok(Next::Done),
            }
        }
        .boxed()
    }
}

async fn reconcile(cx: &Context, item: &Item) -> Outcome {
    let object = item.object.value();
    let name = item.name().to_owned();
    let is_member = |pod: &Item| replica::ordinal(pod.name(), &name).is_some();
    let pods = claims::claim(cx, WHO, &object, (&PODS, "pods"), is_member).await?;
    let revisions = Revisions::of(cx, WHO, &object, HASH_LABEL).await?;
    let current = revisions
        .named(text(&object, "/status/currentRevision"))
        .unwrap_or(&revisions.update)
        .clone();
    let mut set = Set {
        cx,
        object,
        revisions: &revisions,
        current,
        replicas: Vec::new(),
        condemned: Vec::new(),
    };
    set.place(&pods);
    let outcome = if item.is_deleting() {
        Ok(())
    } else {
        set.settle().await
    };
    set.write_status(&pods).await?;
    outcome?;
    let in_use = |revision: &Value| {
        let name = text(revision, "/metadata/name");
        name == text(&set.current, "/metadata/name")
            || pods.iter().any(|pod| revision_of(pod) == name)
    };
    revisions.truncate(cx, WHO, &set.object, in_use).await?;
    let seconds = number(&set.object, "/spec/minReadySeconds");
    Ok(next_available(&cx.clock, &pods, seconds).map_or(Next::Done, Next::After))
}

fn revision_of(pod: &Item) -> &str {
    let label = pod.object.labels().get(REVISION_LABEL);
    label.unwrap_or_default()
}

impl Set<'_> {
    fn name(&self) -> &str {
        text(&self.object, "/metadata/name")
    }

    fn update_name(&self) -> &str {
        text(&self.revisions.update, "/metadata/name")
    }

    fn first(&self) -> i64 {
        number(&self.object, "/spec/ordinals/start")
    }

    fn seconds(&self) -> i64 {
        number(&self.object, "/spec/minReadySeconds")
    }

    fn in_order(&self) -> bool {
        text(&self.object, "/spec/podManagementPolicy") != "Parallel"
    }

    fn rolls(&self) -> bool {
        text(&self.object, "/spec/updateStrategy/type") == "RollingUpdate"
    }

    fn partition(&self) -> i64 {
        number(&self.object, "/spec/updateStrategy/rollingUpdate/partition")
    }

    /// Gives the pods their places; those that have none any more are condemned.
    fn place(&mut self, pods: &[Arc<Item>]) {
        let first = self.first();
        let wanted = number(&self.object, "/spec/replicas");
        self.replicas = (first..first + wanted)
            .map(|ordinal| Replica { ordinal, pod: None })
            .collect();
        for pod in pods {
            let Some(ordinal) = replica::ordinal(pod.name(), self.name()) else {
                continue;
            };
            let at = usize::try_from(ordinal - first).ok();
            match at.and_then(|at| self.replicas.get_mut(at)) {
                Some(replica) => replica.pod = Some(pod.clone()),
                None => self.condemned.push(pod.clone()),
            }
        }
        let name = self.name().to_owned();
        self.condemned
            .sort_by_key(|pod| -replica::ordinal(pod.name(), &name).unwrap_or_default());
    }

    fn is_available(&self, pod: &Item) -> bool {
        !pod.is_deleting() && is_available(&self.cx.clock, pod, self.seconds())
    }

    /// Brings the pods nearer to what the set wants: first what is missing, then what is too many, then what is old.
    async fn settle(&mut self) -> Result<(), Failure> {
        if self.in_order() {
            for replica in &self.replicas {
                if !self.settle_replica(replica).await? {
                    return Ok(());
                }
            }
            if let Some(pod) = self.condemned.first() {
                let ready = pod.pod.phase == "Running" && self.is_available(pod);
                let first_unavailable = self.first_unavailable();
                let is_first = first_unavailable.is_some_and(|first| Arc::ptr_eq(first, pod));
                if pod.is_deleting() || (!ready && !is_first) {
                    return Ok(());
                }
                return replica::delete(self.cx, &self.object, pod).await;
            }
        } else {
            let settled = self.replicas.iter().map(|it| self.settle_replica(it));
            join_all(settled)
                .await
                .into_iter()
                .try_for_each(|outcome| outcome.map(drop))?;
            for pod in self.condemned.iter().filter(|pod| !pod.is_deleting()) {
                replica::delete(self.cx, &self.object, pod).await?;
            }
        }
        if self.rolls() {
            return self.roll().await;
        }
        Ok(())
    }

    /// The first pod that is not available, of those that are wanted before those that are not.
    fn first_unavailable(&self) -> Option<&Arc<Item>> {
        let wanted = self.replicas.iter().filter_map(|it| it.pod.as_ref());
        let mut all = wanted.chain(self.condemned.iter().rev());
        all.find(|pod| !self.is_available(pod))
    }

    /// Makes a pod that is missing and ends one that has finished; says whether the next one may follow.
    async fn settle_replica(&self, replica: &Replica) -> Result<bool, Failure> {
        let Some(pod) = &replica.pod else {
            let pod = self.pod(replica.ordinal);
            replica::create(self.cx, &self.object, replica.ordinal, &pod).await?;
            return Ok(false);
        };
        if pod.has_finished() {
            if !pod.is_deleting() {
                replica::delete(self.cx, &self.object, pod).await?;
            }
            return Ok(false);
        }
        if pod.pod.phase == "Pending" {
            replica::claim_storage(self.cx, &self.object, replica.ordinal).await?;
        }
        Ok(pod.pod.phase == "Running" && self.is_available(pod))
    }

    /// The pod of a place, of the revision that is its turn.
    fn pod(&self, ordinal: i64) -> Value {
        let old = number(&self.object, "/status/currentReplicas");
        let rolling = self.object.pointer("/spec/updateStrategy/rollingUpdate");
        let behind = match rolling {
            Some(_) => ordinal < self.first() + self.partition(),
            None => self.rolls() && ordinal < self.first() + old,
        };
        let revision = if behind {
            &self.current
        } else {
            &self.revisions.update
        };
        let name = text(revision, "/metadata/name");
        replica::pod(&self.object, &template(revision), ordinal, name)
    }

    /// Ends the last pod of an old revision, once all behind it are available.
    async fn roll(&self) -> Result<(), Failure> {
        let update = self.update_name();
        let from = self.first() + self.partition();
        for replica in self.replicas.iter().rev() {
            if replica.ordinal < from {
                break;
            }
            let Some(pod) = &replica.pod else {
                return Ok(());
            };
            if revision_of(pod) != update && !pod.is_deleting() {
                return replica::delete(self.cx, &self.object, pod).await;
            }
            if !self.is_available(pod) {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn write_status(&mut self, pods: &[Arc<Item>]) -> Result<(), Failure> {
        let status = self.status(pods);
        if map(&self.object, "/status") == status {
            return Ok(());
        }
        self.object["status"] = Value::Object(status);
        self.cx
            .client
            .update_status(WHO, &STATEFUL_SETS, &self.object)
            .await?;
        Ok(())
    }

    fn status(&self, pods: &[Arc<Item>]) -> Map<String, Value> {
        let (seconds, clock) = (self.seconds(), &self.cx.clock);
        let wanted = number(&self.object, "/spec/replicas");
        let update = self.update_name();
        let mut current_name = text(&self.current, "/metadata/name");
        let running = |pod: &Arc<Item>| pod.pod.phase == "Running" && pod.pod.ready;
        let ready = count(pods, running);
        let available = count(pods, |pod| {
            running(pod) && is_available(clock, pod, seconds)
        });
        let of = |name: &str| count(pods, |pod| !pod.is_deleting() && revision_of(pod) == name);
        let (mut current, updated) = (of(current_name), of(update));
        let replicas = count(pods, |_| true);
        if self.rolls() && updated == wanted && ready == wanted && replicas == wanted {
            current = updated;
            current_name = update;
        }
        let mut status = map(&self.object, "/status");
        for (name, number) in [
            ("replicas", replicas),
            ("availableReplicas", available),
            ("collisionCount", self.revisions.collisions),
        ] {
            status.insert(name.to_owned(), number.into());
        }
        for (name, number) in [
            ("readyReplicas", ready),
            ("currentReplicas", current),
            ("updatedReplicas", updated),
            (
                "observedGeneration",
                number(&self.object, "/metadata/generation"),
            ),
        ] {
            set_count(&mut status, name, number);
        }
        status.insert("currentRevision".to_owned(), current_name.into());
        status.insert("updateRevision".to_owned(), update.into());
        status
    }
}
