//! Pods whose containers have programs: they are started, and what becomes of them is the status of the pod.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kubewright_kubelet::{
    ContainerState, ContainerStatus, Images, Objects, Pod, Terminated, TokenRequest,
};
use kubewright_storage::Store;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::client::{Client, PODS, Who};
use super::super::object::{Item, list, text};
use super::super::queue::Next;
use super::super::work::{Context, Key, Outcome};
use super::commands::Plan;
use super::containers::Containers;
use super::runs::{Container, Ended, Runs, State};

/// What a pod needs to start.
#[derive(Debug)]
pub(super) struct Starting<'a, A> {
    pub(super) images: &'a Images,
    /// The address of the node.
    pub(super) host: &'a str,
    /// Makes the address of a pod that has none.
    pub(super) address: A,
}

/// The store and the API server, as the programs' kubelet reads them.
struct Stored {
    store: Arc<Store>,
    client: Client,
}

/// Whether a container of a pod has a program.
pub(super) fn has_some(images: &Images, pod: &Value) -> bool {
    !images.is_empty()
        && ["/spec/containers", "/spec/initContainers"]
            .iter()
            .flat_map(|containers| list(pod, containers))
            .any(|container| images.find(text(container, "/image")).is_some())
}

/// Starts the programs of a pod, and writes their state into its status.
pub(super) async fn run(
    cx: &Context,
    key: &Key,
    pod: &Item,
    object: Value,
    starting: Starting<'_, impl FnOnce() -> String>,
) -> Outcome {
    let address = match text(&object, "/status/podIP") {
        "" => (starting.address)(),
        address => address.to_owned(),
    };
    let ip = address.parse().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let objects = Arc::new(Stored {
        store: cx.store.clone(),
        client: cx.client.clone(),
    });
    let running = cx
        .pods
        .start(&object, ip, starting.images, objects, cx.waker(key));
    let now = cx.clock.text();
    let runs = runs(&running, &object, &now);
    let status = Containers {
        pod: &object,
        now: &now,
        host: starting.host,
        runs: &runs,
    };
    let mut status = status.status(|| address.clone());
    status["podIP"] = address.as_str().into();
    status["podIPs"] = json!([{"ip": address}]);
    for (field, specs) in [
        ("containerStatuses", "/spec/containers"),
        ("initContainerStatuses", "/spec/initContainers"),
    ] {
        for (at, spec) in list(&object, specs).iter().enumerate() {
            if let Some(known) = running.status(text(spec, "/name")) {
                show(&mut status[field][at], &known);
            }
        }
    }
    if object["status"] != status {
        let mut changed = object;
        changed["status"] = status;
        let who = Who::Node(&pod.pod.node);
        cx.client.update_status(who, &PODS, &changed).await?;
    }
    Ok(Next::Done)
}

/// What all containers of a pod do. One without a program serves, or has initialized the pod.
fn runs(running: &Pod, pod: &Value, now: &str) -> Runs {
    let mut runs = Runs::default();
    for (specs, statuses) in [
        ("/spec/initContainers", "/status/initContainerStatuses"),
        ("/spec/containers", "/status/containerStatuses"),
    ] {
        for spec in list(pod, specs) {
            let name = text(spec, "/name");
            let run = running.status(name).map_or_else(
                || {
                    let mut known = list(pod, statuses).iter();
                    let known = known.find(|known| known["name"] == name);
                    let initializes =
                        specs == "/spec/initContainers" && spec["restartPolicy"] != "Always";
                    without_program(known.unwrap_or(&Value::Null), initializes, now)
                },
                |status| of_program(&status),
            );
            runs.report(name, run);
        }
    }
    runs
}

fn of_program(status: &ContainerStatus) -> Container {
    let ended = |how: &Terminated| Ended {
        code: u8::try_from(how.code).unwrap_or(u8::MAX),
        started: how.started.clone(),
        finished: how.finished.clone(),
    };
    let state = match &status.state {
        ContainerState::Waiting { .. } if status.last.is_some() => State::Backing(Instant::now()),
        ContainerState::Waiting { .. } => State::Waiting("ContainerCreating"),
        ContainerState::Running { since } => State::Running {
            since: Instant::now(),
            started: since.clone(),
            plan: if status.ready {
                Plan::Serves
            } else {
                Plan::Unready
            },
        },
        ContainerState::Terminated(how) => State::Ended(ended(how)),
    };
    Container::reported(
        state,
        status.restarts.into(),
        status.last.as_ref().map(ended),
    )
}

fn without_program(known: &Value, initializes: bool, now: &str) -> Container {
    let since = |at: &str| match text(known, at) {
        "" => now.to_owned(),
        since => since.to_owned(),
    };
    let state = if initializes {
        State::Ended(Ended {
            code: 0,
            started: since("/state/terminated/startedAt"),
            finished: since("/state/terminated/finishedAt"),
        })
    } else {
        State::Running {
            since: Instant::now(),
            started: since("/state/running/startedAt"),
            plan: Plan::Serves,
        }
    };
    Container::reported(state, 0, None)
}

/// Writes the state of a program into the status of its container.
fn show(shown: &mut Value, known: &ContainerStatus) {
    let id = match shown["containerID"].as_str() {
        Some(id) => id.to_owned(),
        None => String::new(),
    };
    let ended = |ended: &Terminated| {
        let mut terminated = json!({
            "exitCode": ended.code,
            "reason": ended.reason,
            "startedAt": ended.started,
            "finishedAt": ended.finished,
        });
        for (field, text) in [("containerID", &id), ("message", &ended.message)] {
            if !text.is_empty() {
                terminated[field] = text.as_str().into();
            }
        }
        json!({"terminated": terminated})
    };
    shown["state"] = match &known.state {
        ContainerState::Waiting { reason, message } if message.is_empty() => {
            json!({"waiting": {"reason": reason}})
        }
        ContainerState::Waiting { reason, message } => {
            json!({"waiting": {"reason": reason, "message": message}})
        }
        ContainerState::Running { since } => json!({"running": {"startedAt": since}}),
        ContainerState::Terminated(terminated) => ended(terminated),
    };
    shown["lastState"] = known.last.as_ref().map_or_else(|| json!({}), ended);
    shown["ready"] = known.ready.into();
    shown["started"] = known.started.into();
    shown["restartCount"] = known.restarts.into();
}

impl Objects for Stored {
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        let object = self.store.get(resource, &format!("{namespace}/{name}"))?;
        Some(object.value())
    }

    fn token<'a>(&'a self, request: TokenRequest<'a>) -> BoxFuture<'a, Result<String, String>> {
        let metadata = &request.pod["metadata"];
        let audiences: Vec<&str> = Some(request.audience)
            .filter(|audience| !audience.is_empty())
            .into_iter()
            .collect();
        let body = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {
                "audiences": audiences,
                "expirationSeconds": request.expiration_seconds,
                "boundObjectRef": {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                },
            },
        });
        let path = format!(
            "/api/v1/namespaces/{}/serviceaccounts/{}/token",
            text(metadata, "/namespace"),
            text(request.pod, "/spec/serviceAccountName"),
        );
        async move {
            let who = Who::Node(text(request.pod, "/spec/nodeName"));
            let answer = self.client.post(who, &path, &body).await;
            let answer = answer.map_err(|failure| failure.to_string())?;
            Ok(text(&answer, "/status/token").to_owned())
        }
        .boxed()
    }
}
