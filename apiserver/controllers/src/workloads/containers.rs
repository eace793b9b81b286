//! What the status of a pod says of containers that are not there.

use serde_json::{Map, Value, json};

use super::super::object::{list, map, number, text};
use super::status::{condition, put_condition};

/// What a pod's containers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Starting,
    Ready,
    /// They run and never become ready.
    Unready,
    /// They end with a failure again and again.
    Crashing,
    Succeeded,
    Failed,
}

/// One pod on its node.
#[derive(Debug)]
pub(super) struct Containers<'a> {
    pub(super) pod: &'a Value,
    pub(super) now: &'a str,
    /// The address of the node.
    pub(super) host: &'a str,
    /// The containers that are not ready, if some are.
    pub(super) unready: &'a [&'a str],
}

impl Containers<'_> {
    /// The status of the pod in a state; the same one again is not a change.
    pub(super) fn status(&self, state: State, address: impl FnOnce() -> String) -> Value {
        let mut status = map(self.pod, "/status");
        let phase = match state {
            State::Starting => "Pending",
            State::Ready | State::Unready | State::Crashing => "Running",
            State::Succeeded => "Succeeded",
            State::Failed => "Failed",
        };
        status.insert("phase".to_owned(), phase.into());
        let generation = number(self.pod, "/metadata/generation");
        status.insert("observedGeneration".to_owned(), generation.into());
        if !status.contains_key("startTime") {
            status.insert("startTime".to_owned(), self.now.into());
        }
        if !self.host.is_empty() {
            status.insert("hostIP".to_owned(), self.host.into());
            status.insert("hostIPs".to_owned(), json!([{"ip": self.host}]));
        }
        if state != State::Starting && !status.contains_key("podIP") {
            let own = self.pod["spec"]["hostNetwork"] != true || self.host.is_empty();
            let ip = if own { address() } else { self.host.to_owned() };
            status.insert("podIPs".to_owned(), json!([{"ip": ip}]));
            status.insert("podIP".to_owned(), ip.into());
        }
        self.set_conditions(&mut status, state);
        let old = self.pod["status"]["containerStatuses"].clone();
        let containers = list(self.pod, "/spec/containers");
        let statuses: Vec<Value> = containers
            .iter()
            .map(|container| self.container(container, state, &old))
            .collect();
        status.insert("containerStatuses".to_owned(), statuses.into());
        let first = list(self.pod, "/spec/initContainers");
        if !first.is_empty() {
            let old = self.pod["status"]["initContainerStatuses"].clone();
            let state_of = |container: &Value| match state {
                // A sidecar goes on beside the containers.
                _ if container["restartPolicy"] == "Always" => state,
                State::Starting => State::Starting,
                _ => State::Succeeded,
            };
            let statuses: Vec<Value> = first
                .iter()
                .map(|container| {
                    let mut status = self.container(container, state_of(container), &old);
                    // One that has done its work is what the pod waits for.
                    if state_of(container) == State::Succeeded {
                        status["ready"] = true.into();
                    }
                    status
                })
                .collect();
            status.insert("initContainerStatuses".to_owned(), statuses.into());
        }
        Value::Object(status)
    }

    fn set_conditions(&self, status: &mut Map<String, Value>, state: State) {
        let ready = state == State::Ready;
        let finished = state == State::Succeeded;
        let why_not = if finished {
            "PodCompleted"
        } else {
            "ContainersNotReady"
        };
        let unready = self.unready.join(" ");
        let unready = format!("containers with unready status: [{unready}]");
        let unready = if finished { "" } else { unready.as_str() };
        let yes = ("True", "", "");
        let no = ("False", why_not, unready);
        let initialized = if state == State::Starting && self.has_init() {
            no
        } else {
            yes
        };
        let gated = ready && !self.gates_are_open(status);
        let sandbox = !matches!(state, State::Starting | State::Succeeded | State::Failed);
        self.set(
            status,
            "PodReadyToStartContainers",
            if sandbox { yes } else { ("False", "", "") },
        );
        self.set(status, "Initialized", initialized);
        let of_pod = match (ready, gated) {
            (true, true) => (
                "False",
                "ReadinessGatesNotReady",
                "a readiness gate is closed",
            ),
            (true, false) => yes,
            _ => no,
        };
        self.set(status, "Ready", of_pod);
        self.set(status, "ContainersReady", if ready { yes } else { no });
        if condition(status, "PodScheduled").is_none() {
            self.set(status, "PodScheduled", yes);
        }
    }

    fn has_init(&self) -> bool {
        !list(self.pod, "/spec/initContainers").is_empty()
    }

    fn gates_are_open(&self, status: &Map<String, Value>) -> bool {
        list(self.pod, "/spec/readinessGates").iter().all(|gate| {
            let known = condition(status, text(gate, "/conditionType"));
            known.is_some_and(|known| known["status"] == "True")
        })
    }

    fn set(
        &self,
        status: &mut Map<String, Value>,
        what: &str,
        (is, reason, message): (&str, &str, &str),
    ) {
        let known = condition(status, what);
        let same = |known: &Value| {
            known["status"] == is
                && text(known, "/reason") == reason
                && text(known, "/message") == message
        };
        if known.is_some_and(same) {
            return;
        }
        let since = known
            .filter(|known| known["status"] == is)
            .map_or(self.now, |known| text(known, "/lastTransitionTime"));
        let mut condition = json!({
            "type": what,
            "status": is,
            "lastTransitionTime": since,
            "observedGeneration": number(self.pod, "/metadata/generation"),
        });
        for (name, text) in [("reason", reason), ("message", message)] {
            if !text.is_empty() {
                condition[name] = text.into();
            }
        }
        put_condition(status, condition);
    }

    /// The status of a container; the times of one that goes on as before stay.
    fn container(&self, container: &Value, state: State, old: &Value) -> Value {
        let name = text(container, "/name");
        let image = text(container, "/image");
        let old = list(old, "").iter().find(|old| old["name"] == name);
        let since = |pointer: &str| {
            let since = old.map_or("", |old| text(old, pointer));
            if since.is_empty() { self.now } else { since }.to_owned()
        };
        let id = format!("simulated://{}-{name}", text(self.pod, "/metadata/uid"));
        let ended = |code: u8, reason: &str, at: &str| {
            let started = old.map_or("", |old| text(old, "/state/running/startedAt"));
            let started = if started.is_empty() {
                since(&format!("{at}/startedAt"))
            } else {
                started.to_owned()
            };
            json!({"terminated": {
                "exitCode": code,
                "reason": reason,
                "containerID": id,
                "startedAt": started,
                "finishedAt": since(&format!("{at}/finishedAt")),
            }})
        };
        let (is, last, restarts) = match state {
            State::Starting => {
                let waiting = json!({"waiting": {"reason": "ContainerCreating"}});
                (waiting, json!({}), 0)
            }
            State::Ready | State::Unready => {
                let started = since("/state/running/startedAt");
                (json!({"running": {"startedAt": started}}), json!({}), 0)
            }
            State::Crashing => {
                let waiting = json!({"waiting": {
                    "reason": "CrashLoopBackOff",
                    "message": "simulated: the container fails",
                }});
                (waiting, ended(1, "Error", "/lastState/terminated"), 1)
            }
            State::Succeeded => (ended(0, "Completed", "/state/terminated"), json!({}), 0),
            State::Failed => (ended(1, "Error", "/state/terminated"), json!({}), 0),
        };
        let runs = matches!(state, State::Ready | State::Unready);
        let mut status = json!({
            "name": name,
            "image": image,
            "imageID": if state == State::Starting { "" } else { image },
            "ready": state == State::Ready,
            "started": runs,
            "restartCount": restarts,
            "state": is,
            "lastState": last,
        });
        if state != State::Starting {
            status["containerID"] = id.into();
        }
        status
    }
}
