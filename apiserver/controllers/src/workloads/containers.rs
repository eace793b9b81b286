//! The status of a pod whose containers are simulated.

use serde_json::{Map, Value, json};

use super::super::object::{list, map, number, text};
use super::runs::{Container, Ended, Runs, State, phase};
use super::status::{condition, put_condition};

/// One pod on its node.
#[derive(Debug)]
pub(super) struct Containers<'a> {
    pub(super) pod: &'a Value,
    pub(super) now: &'a str,
    /// The address of the node.
    pub(super) host: &'a str,
    pub(super) runs: &'a Runs,
}

impl Containers<'_> {
    /// The status of the pod; the same one again is not a change.
    pub(super) fn status(&self, address: impl FnOnce() -> String) -> Value {
        let mut status = map(self.pod, "/status");
        let phase = phase(self.pod, self.runs);
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
        if self.has_started() && !status.contains_key("podIP") {
            let own = self.pod["spec"]["hostNetwork"] != true || self.host.is_empty();
            let ip = if own { address() } else { self.host.to_owned() };
            status.insert("podIPs".to_owned(), json!([{"ip": ip}]));
            status.insert("podIP".to_owned(), ip.into());
        }
        self.set_conditions(&mut status, phase);
        let finished = matches!(phase, "Succeeded" | "Failed");
        for (name, of_spec) in [
            ("containerStatuses", "/spec/containers"),
            ("initContainerStatuses", "/spec/initContainers"),
        ] {
            let containers = list(self.pod, of_spec);
            let statuses: Vec<Value> = containers
                .iter()
                .map(|container| {
                    let mut status = self.container(container, finished);
                    // A container that has initialized the pod is what the pod waited for.
                    if name == "initContainerStatuses"
                        && status["state"]["terminated"]["exitCode"] == 0
                    {
                        status["ready"] = true.into();
                    }
                    status
                })
                .collect();
            if !statuses.is_empty() {
                status.insert(name.to_owned(), statuses.into());
            }
        }
        Value::Object(status)
    }

    fn known(&self, container: &Value) -> Option<&Container> {
        self.runs.get(text(container, "/name"))
    }

    /// Whether any container has run.
    fn has_started(&self) -> bool {
        ["/spec/initContainers", "/spec/containers"]
            .into_iter()
            .flat_map(|at| list(self.pod, at))
            .any(|container| {
                self.known(container)
                    .is_some_and(|known| !matches!(known.state, State::Waiting(_)))
            })
    }

    fn set_conditions(&self, status: &mut Map<String, Value>, phase: &str) {
        let containers = list(self.pod, "/spec/containers");
        let unready: Vec<&str> = containers
            .iter()
            .filter(|container| !self.known(container).is_some_and(Container::is_ready))
            .map(|container| text(container, "/name"))
            .collect();
        let ready = unready.is_empty();
        let message = format!("containers with unready status: [{}]", unready.join(" "));
        let yes = ("True", "", "");
        let no = match phase {
            "Succeeded" => ("False", "PodCompleted", ""),
            "Failed" => ("False", "PodFailed", ""),
            _ => ("False", "ContainersNotReady", message.as_str()),
        };
        let uninitialized: Vec<&str> = list(self.pod, "/spec/initContainers")
            .iter()
            .filter(|container| {
                let known = self.known(container);
                if container["restartPolicy"] == "Always" {
                    !known.is_some_and(Container::is_running) && phase == "Pending"
                } else {
                    known.and_then(Container::code) != Some(0)
                }
            })
            .map(|container| text(container, "/name"))
            .collect();
        let incomplete = format!(
            "containers with incomplete status: [{}]",
            uninitialized.join(" ")
        );
        let initialized = match (phase, uninitialized.is_empty()) {
            ("Succeeded", _) => ("True", "PodCompleted", ""),
            (_, true) => yes,
            _ => ("False", "ContainersNotInitialized", incomplete.as_str()),
        };
        let gated = ready && !self.gates_are_open(status);
        let sandbox = self.has_started() && !matches!(phase, "Succeeded" | "Failed");
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

    /// The status of a container. Sidecars of a pod that has finished have ended, too.
    fn container(&self, container: &Value, finished: bool) -> Value {
        let name = text(container, "/name");
        let image = text(container, "/image");
        let id = format!("simulated://{}-{name}", text(self.pod, "/metadata/uid"));
        let ended = |how: &Ended| {
            json!({"terminated": {
                "exitCode": how.code,
                "reason": if how.code == 0 { "Completed" } else { "Error" },
                "containerID": id,
                "startedAt": how.started,
                "finishedAt": how.finished,
            }})
        };
        let waiting = |reason: &str| json!({"waiting": {"reason": reason}});
        let mut status = json!({
            "name": name,
            "image": image,
            "imageID": "",
            "ready": false,
            "started": false,
            "restartCount": 0,
            "state": waiting("ContainerCreating"),
            "lastState": {},
        });
        let Some(known) = self.known(container) else {
            return status;
        };
        status["state"] = match &known.state {
            State::Waiting(reason) => waiting(reason),
            State::Invalid(message) => {
                json!({"waiting": {"reason": "CreateContainerConfigError", "message": message}})
            }
            State::Running { started, .. } if finished => ended(&Ended {
                code: 0,
                started: started.clone(),
                finished: self.now.to_owned(),
            }),
            State::Running { started, .. } => json!({"running": {"startedAt": started}}),
            State::Ended(how) => ended(how),
            State::Backing(_) => json!({"waiting": {
                "reason": "CrashLoopBackOff",
                "message": "simulated: the container ended and will start again",
            }}),
        };
        if let Some(last) = &known.last {
            status["lastState"] = ended(last);
        }
        status["restartCount"] = known.restarts.into();
        status["ready"] = (known.is_ready() && !finished).into();
        status["started"] = (known.is_running() && !finished).into();
        if !matches!(known.state, State::Waiting(_) | State::Invalid(_)) {
            status["imageID"] = image.into();
            status["containerID"] = id.as_str().into();
        }
        status
    }
}
