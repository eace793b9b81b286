//! The simulated kubelet of every node: reports the containers of pods as running, and removes pods that are being deleted.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kubewright_kubelet::Pods;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::super::client::{Failure, PODS, Who};
use super::super::graph::{Change, Graph};
use super::super::object::{Item, list, text};
use super::super::queue::Next;
use super::super::work::{Context, Controller, Key, Keys, Outcome};
use super::commands::Files;
use super::containers::Containers;
use super::exec::Commands;
use super::node_lifecycle::readiness;
use super::runs::{Runs, Step};
use super::scheduler::Cluster;
use super::status::put_condition;
use super::{Workloads, nodes, programs};

/// How long a kubelet takes to reject a pod. Controllers create the next one at once: without this, as many as the machine can.
const REJECTED_AFTER: Duration = Duration::from_secs(1);

/// The kubelets of all nodes.
#[derive(Debug)]
pub(crate) struct Kubelet {
    times: Workloads,
    /// When each pod entered its current stage, by UID.
    since: Mutex<HashMap<String, (Stage, Instant)>>,
    simulated: Mutex<Simulated>,
    addresses: AtomicUsize,
    pods: Pods,
    cluster: Arc<Mutex<Cluster>>,
}

/// What runs in the pods of all nodes.
#[derive(Debug, Default)]
struct Simulated {
    /// By the UID of the pod.
    runs: HashMap<String, Runs>,
    files: Arc<Mutex<Files>>,
}

/// The stage of a pod's lifecycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Starting,
    Ending,
}

impl Controller for Kubelet {
    fn prepare<'a>(&'a self, cx: &'a Context) -> BoxFuture<'a, ()> {
        async move {
            if let Err(failure) = nodes::register(cx, self.times.nodes).await {
                tracing::warn!(%failure, "there are no simulated nodes");
            }
        }
        .boxed()
    }

    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        if let (true, Some(before), Some(node)) =
            (change.is_in("nodes"), &change.before, &change.after)
        {
            let is_silent = |node: &Item| readiness(&node.object.value()) == "Unknown";
            if is_silent(before) && !is_silent(node) {
                let pods = graph.list("pods", "").into_iter();
                pods.filter(|pod| pod.pod.node == node.name())
                    .for_each(|pod| keys.add(&pod));
            }
        }
        if !change.is_in("pods") {
            return;
        }
        match (&change.before, &change.after) {
            (_, Some(pod)) if !pod.pod.node.is_empty() => keys.add(pod),
            (Some(gone), None) => {
                self.since.lock().remove(&gone.meta.uid);
                self.pods.remove(&gone.meta.uid);
                let mut simulated = self.simulated.lock();
                if simulated.runs.remove(&gone.meta.uid).is_some() {
                    simulated.files.lock().forget(&gone.meta.uid);
                }
            }
            _ => {}
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            let pod = cx.item(key).filter(|pod| !pod.pod.node.is_empty());
            let Some(pod) = pod else {
                return Ok(Next::Done);
            };
            let Some(node) = cx.look(|graph| graph.get("nodes", &pod.pod.node)) else {
                return Ok(Next::Done);
            };
            let node = node.object.value();
            if readiness(&node) == "Unknown" {
                // A node that does not report does nothing, either.
                return Ok(Next::Done);
            }
            if pod.is_deleting() {
                self.end(cx, &pod).await
            } else if pod.has_finished() {
                Ok(Next::Done)
            } else {
                self.run(cx, key, &pod, &node).await
            }
        }
        .boxed()
    }
}

impl Kubelet {
    pub(crate) fn new(times: Workloads, pods: Pods, cluster: Arc<Mutex<Cluster>>) -> Self {
        let simulated = Simulated::default();
        pods.simulate(Arc::new(Commands(simulated.files.clone())));
        Self {
            times,
            since: Mutex::default(),
            simulated: Mutex::new(simulated),
            addresses: AtomicUsize::new(0),
            pods,
            cluster,
        }
    }

    /// The remaining time of a pod in a stage that takes this long.
    fn left(&self, pod: &Item, stage: Stage, takes: Duration) -> Duration {
        let mut since = self.since.lock();
        let now = Instant::now();
        let known = since.entry(pod.meta.uid.clone()).or_insert((stage, now));
        if known.0 != stage {
            *known = (stage, now);
        }
        takes.saturating_sub(now.duration_since(known.1))
    }

    async fn run(&self, cx: &Context, key: &Key, pod: &Item, node: &Value) -> Outcome {
        let object = pod.object.value();
        if object["status"]["startTime"].is_null() {
            let rejection = self.cluster.lock().admit(pod, &object);
            if let Some((reason, message)) = rejection {
                let left = self.left(pod, Stage::Starting, REJECTED_AFTER);
                if !left.is_zero() {
                    return Ok(Next::After(left));
                }
                return reject(cx, pod, object, reason, &message).await;
            }
        }
        let host = internal_address(node);
        if programs::has_some(&self.times.images, &object) {
            let starting = programs::Starting {
                images: &self.times.images,
                host: &host,
                address: || self.address(),
            };
            return programs::run(cx, key, pod, object, starting).await;
        }
        let starting = match pod.pod.phase.as_str() {
            "Running" => Duration::ZERO,
            _ => self.left(pod, Stage::Starting, self.times.ready),
        };
        let now = cx.clock.text();
        let (status, next) = {
            let mut simulated = self.simulated.lock();
            let Simulated { runs, files } = &mut *simulated;
            let files = &mut *files.lock();
            let runs = runs
                .entry(pod.meta.uid.clone())
                .or_insert_with(|| Runs::of(&object));
            let next = if starting.is_zero() {
                runs.advance(&mut Step {
                    pod: &object,
                    now: Instant::now(),
                    text: &now,
                    finished: self.times.finished,
                    files,
                })
            } else {
                Some(starting)
            };
            let containers = Containers {
                pod: &object,
                now: &now,
                host: &host,
                runs,
            };
            (containers.status(|| self.address()), next)
        };
        if object["status"] != status {
            let mut changed = object;
            changed["status"] = status;
            let who = Who::Node(&pod.pod.node);
            cx.client.update_status(who, &PODS, &changed).await?;
        }
        Ok(next.map_or(Next::Done, Next::After))
    }

    /// Removes a pod once its containers have stopped or its grace period has expired.
    async fn end(&self, cx: &Context, pod: &Item) -> Outcome {
        let grace = pod.meta.deletion_grace_period_seconds.unwrap_or_default();
        if grace == 0 {
            return Ok(Next::Done);
        }
        let grace = Duration::from_secs(grace.into());
        let takes = match self.pods.get(&pod.meta.uid) {
            Some(running) => {
                running.stop();
                if running.has_ended() {
                    Duration::ZERO
                } else {
                    grace
                }
            }
            None => self.times.stopped.min(grace),
        };
        let left = self.left(pod, Stage::Ending, takes);
        if !left.is_zero() {
            return Ok(Next::After(left));
        }
        self.pods.remove(&pod.meta.uid);
        if !pod.meta.finalizers.is_empty() && !pod.has_finished() {
            stop(cx, pod).await?;
        }
        let path = PODS.path(pod.namespace(), pod.name());
        let options = json!({
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": pod.meta.uid},
        });
        let who = Who::Node(&pod.pod.node);
        cx.client.delete(who, &path, &options).await?;
        Ok(Next::Done)
    }

    /// Returns an address for a pod; starts again after the last one.
    fn address(&self) -> String {
        let at = self.addresses.fetch_add(1, Ordering::Relaxed);
        format!("10.244.{}.{}", at / 254 % 256, at % 254 + 1)
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.pods.clear();
    }
}

/// Reports that the node does not take a pod that no scheduler gave to it.
async fn reject(
    cx: &Context,
    pod: &Item,
    mut object: Value,
    reason: String,
    message: &str,
) -> Outcome {
    object["status"]["phase"] = "Failed".into();
    object["status"]["startTime"] = cx.clock.text().into();
    object["status"]["reason"] = reason.into();
    object["status"]["message"] = format!("Pod was rejected: {message}").into();
    let who = Who::Node(&pod.pod.node);
    cx.client.update_status(who, &PODS, &object).await?;
    Ok(Next::Done)
}

/// Reports the containers of a pod as stopped. Only of a pod that outlives its deletion is there time to read it.
async fn stop(cx: &Context, pod: &Item) -> Result<(), Failure> {
    let now = cx.clock.text();
    let mut object = pod.object.value();
    let status = &mut object["status"];
    status["phase"] = "Failed".into();
    for name in ["containerStatuses", "initContainerStatuses"] {
        let Some(Value::Array(containers)) = status.get_mut(name) else {
            continue;
        };
        for container in containers {
            container["ready"] = false.into();
            container["started"] = false.into();
            if container["state"]["terminated"].is_null() {
                let started = container["state"]["running"]["startedAt"].clone();
                // As of a program that does not handle SIGTERM.
                container["state"] = json!({"terminated": {
                    "exitCode": 137,
                    "reason": "Error",
                    "startedAt": if started.is_null() { Value::from(now.as_str()) } else { started },
                    "finishedAt": now,
                }});
            }
        }
    }
    if let Value::Object(status) = status {
        for what in ["Ready", "ContainersReady"] {
            let condition = json!({
                "type": what,
                "status": "False",
                "reason": "PodFailed",
                "lastTransitionTime": now,
            });
            put_condition(status, condition);
        }
    }
    let who = Who::Node(&pod.pod.node);
    match cx.client.update_status(who, &PODS, &object).await {
        Err(failure) if !failure.is_not_found() => Err(failure),
        _ => Ok(()),
    }
}

fn internal_address(node: &Value) -> String {
    let addresses = list(node, "/status/addresses");
    let internal = addresses
        .iter()
        .find(|address| address["type"] == "InternalIP");
    internal.map_or("", |it| text(it, "/address")).to_owned()
}
