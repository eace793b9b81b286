//! The simulated kubelet of every node: reports the containers of pods as running, and removes pods that are being deleted.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kubewright_kubelet::Pods;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::super::client::{PODS, Who};
use super::super::graph::{Change, Graph};
use super::super::object::{Item, list, text};
use super::super::queue::Next;
use super::super::work::{Context, Controller, Key, Keys, Outcome};
use super::containers::{Containers, State};
use super::{Workloads, nodes, programs};

/// The kubelets of all nodes.
#[derive(Debug)]
pub(crate) struct Kubelet {
    times: Workloads,
    /// When each pod entered its current stage, by UID.
    since: Mutex<HashMap<String, (Stage, Instant)>>,
    addresses: AtomicUsize,
    pods: Pods,
}

/// The stage of a pod's lifecycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Starting,
    Running,
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

    fn concerns(&self, change: &Change, _: &Graph, keys: &mut Keys<'_>) {
        if !change.is_in("pods") {
            return;
        }
        match (&change.before, &change.after) {
            (_, Some(pod)) if !pod.pod.node.is_empty() => keys.add(pod),
            (Some(gone), None) => {
                self.since.lock().remove(&gone.meta.uid);
                self.pods.remove(&gone.meta.uid);
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
            if cx.look(|graph| graph.get("nodes", &pod.pod.node)).is_none() {
                return Ok(Next::Done);
            }
            if pod.is_deleting() {
                self.end(cx, &pod).await
            } else if pod.has_finished() {
                Ok(Next::Done)
            } else {
                self.run(cx, key, &pod).await
            }
        }
        .boxed()
    }
}

impl Kubelet {
    pub(crate) fn new(times: Workloads, pods: Pods) -> Self {
        Self {
            times,
            since: Mutex::default(),
            addresses: AtomicUsize::new(0),
            pods,
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

    async fn run(&self, cx: &Context, key: &Key, pod: &Item) -> Outcome {
        let object = pod.object.value();
        let node = cx.look(|graph| graph.get("nodes", &pod.pod.node));
        let host = node.map(|node| internal_address(&node.object.value()));
        let host = host.as_deref().unwrap_or_default();
        if programs::has_some(&self.times.images, &object) {
            let starting = programs::Starting {
                images: &self.times.images,
                host,
                address: || self.address(),
            };
            return programs::run(cx, key, pod, object, starting).await;
        }
        let fails = pod.pod.annotations.get(SIMULATE).map_or("", String::as_str);
        let ends = ends_by_itself(&object);
        let starting = match pod.pod.phase.as_str() {
            "Running" => Duration::ZERO,
            _ => self.left(pod, Stage::Starting, self.times.ready),
        };
        let (state, next) = if starting.is_zero() {
            let running = self.left(pod, Stage::Running, self.times.finished);
            let state = match fails {
                "failure" if ends && running.is_zero() => State::Failed,
                "failure" if !ends => State::Crashing,
                "unready" => State::Unready,
                _ if ends && running.is_zero() => State::Succeeded,
                _ => State::Ready,
            };
            let waits = ends && !running.is_zero();
            let next = if waits {
                Next::After(running)
            } else {
                Next::Done
            };
            (state, next)
        } else {
            (State::Starting, Next::After(starting))
        };
        let names = list(&object, "/spec/containers");
        let names: Vec<&str> = names
            .iter()
            .map(|container| text(container, "/name"))
            .collect();
        let containers = Containers {
            pod: &object,
            now: &cx.clock.text(),
            host,
            unready: &names,
        };
        let status = containers.status(state, || self.address());
        if object["status"] != status {
            let mut changed = object;
            changed["status"] = status;
            let who = Who::Node(&pod.pod.node);
            cx.client.update_status(who, &PODS, &changed).await?;
        }
        Ok(next)
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

/// Whether the containers of a pod terminate without being stopped: those of Jobs do.
fn ends_by_itself(pod: &Value) -> bool {
    let owners = list(pod, "/metadata/ownerReferences");
    let of_job = owners
        .iter()
        .any(|owner| owner["controller"] == true && owner["kind"] == "Job");
    of_job && text(pod, "/spec/restartPolicy") != "Always"
}

fn internal_address(node: &Value) -> String {
    let addresses = list(node, "/status/addresses");
    let internal = addresses
        .iter()
        .find(|address| address["type"] == "InternalIP");
    internal.map_or("", |it| text(it, "/address")).to_owned()
}

/// The annotation of a pod with the state to simulate: `failure` or `unready`.
pub(super) const SIMULATE: &str = "kubewright.dev/simulate";
