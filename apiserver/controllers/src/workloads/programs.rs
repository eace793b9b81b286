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

use super::super::client::{Client, PODS, Who};
use super::super::object::{Item, list, text};
use super::super::queue::Next;
use super::super::work::{Context, Key, Outcome};
use super::containers::{Containers, State};

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
    let containers = list(&object, "/spec/containers");
    let names = containers.iter().map(|container| text(container, "/name"));
    let unready: Vec<&str> = names
        .filter(|name| running.status(name).is_some_and(|status| !status.ready))
        .collect();
    let status = Containers {
        pod: &object,
        now: &now,
        host: starting.host,
        unready: &unready,
    };
    let state = state(&running, &object, unready.is_empty());
    let mut status = status.status(state, || address.clone());
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

fn state(running: &Pod, pod: &Value, ready: bool) -> State {
    let of = |containers: &str| -> Vec<ContainerStatus> {
        let specs = list(pod, containers).iter();
        specs
            .filter_map(|spec| running.status(text(spec, "/name")))
            .collect()
    };
    let containers = of("/spec/containers");
    let has_failed = |status: &ContainerStatus| {
        let ended = status.state.terminated();
        ended.is_some_and(|ended| ended.code != 0)
    };
    if running.has_ended() {
        let failed = containers
            .iter()
            .chain(&of("/spec/initContainers"))
            .any(has_failed);
        return if failed {
            State::Failed
        } else {
            State::Succeeded
        };
    }
    let has_begun = |status: &ContainerStatus| {
        status.last.is_some() || !matches!(status.state, ContainerState::Waiting { .. })
    };
    if !containers.iter().all(has_begun) {
        State::Starting
    } else if ready {
        State::Ready
    } else {
        State::Unready
    }
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
