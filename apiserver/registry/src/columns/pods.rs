//! The rows of pods and pod templates.

use jiff::Timestamp;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::Row;
use super::text::{condition, count, or_none, time};

pub(crate) fn pod(row: Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let state = State::of(row);
    let restarts = match state.last_restart {
        Some(last) if state.restarts != 0 => format!(
            "{} ({} ago)",
            state.restarts,
            super::text::duration(row.now.duration_since(last).as_secs())
        ),
        _ => state.restarts.to_string(),
    };
    let address = status
        .list("podIPs")
        .first()
        .map_or("", |address| address.text("ip"));
    vec![
        row.name(),
        format!("{}/{}", state.ready, state.total).into(),
        state.reason.into(),
        restarts.into(),
        row.age(),
        or_none(address).into(),
        or_none(spec.text("nodeName")).into(),
        or_none(status.text("nominatedNodeName")).into(),
        readiness_gates(spec, status).into(),
    ]
}

struct State {
    reason: String,
    ready: usize,
    total: usize,
    restarts: i64,
    last_restart: Option<Timestamp>,
}

impl State {
    fn of(row: Row<'_>) -> Self {
        let (spec, status) = (row.spec(), row.status());
        let phase = status.text("phase");
        let mut state = Self {
            reason: match status.text("reason") {
                "" => phase.to_owned(),
                reason => reason.to_owned(),
            },
            ready: 0,
            total: spec.list("containers").len(),
            restarts: 0,
            last_restart: None,
        };
        let gated = status.list("conditions").iter().any(|condition| {
            condition.text("type") == "PodScheduled"
                && condition.text("reason") == "SchedulingGated"
        });
        if gated {
            "SchedulingGated".clone_into(&mut state.reason);
        }
        let sidecars = Restarts::default();
        let (initialising, sidecars) = state.initialise(spec, status, sidecars);
        if !initialising || condition(status, "Initialized") {
            state.restarts = sidecars.count;
            state.last_restart = sidecars.last;
            state.run(status);
        }
        if row.is_going() {
            if status.text("reason") == "NodeLost" {
                "Unknown".clone_into(&mut state.reason);
            } else if !matches!(phase, "Failed" | "Succeeded") {
                "Terminating".clone_into(&mut state.reason);
            }
        }
        state
    }

    /// Looks at the init containers up to the first that is not done. Sidecars count among the running containers.
    fn initialise(
        &mut self,
        spec: &Value,
        status: &Value,
        mut sidecars: Restarts,
    ) -> (bool, Restarts) {
        let all = spec.list("initContainers");
        let is_sidecar = |name: &str| {
            all.iter()
                .any(|c| c.text("name") == name && c.text("restartPolicy") == "Always")
        };
        self.total += all
            .iter()
            .filter(|container| container.text("restartPolicy") == "Always")
            .count();
        let mut own = Restarts::default();
        let mut initialising = false;
        for (index, container) in status.list("initContainerStatuses").iter().enumerate() {
            let sidecar = is_sidecar(container.text("name"));
            own.add(container);
            if sidecar {
                sidecars.add(container);
            }
            let now = container.at("state");
            let terminated = now.at("terminated");
            if terminated.is_object() && count(terminated, "exitCode") == 0 {
                continue;
            }
            if sidecar && container.flag("started") {
                self.ready += usize::from(container.flag("ready"));
                continue;
            }
            let waiting = now.at("waiting").text("reason");
            self.reason = if terminated.is_object() {
                format!("Init:{}", end_of(terminated))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{index}/{}", all.len())
            };
            initialising = true;
            break;
        }
        self.restarts = own.count;
        self.last_restart = own.last;
        (initialising, sidecars)
    }

    fn run(&mut self, status: &Value) {
        let mut running = false;
        let mut restarts = Restarts {
            count: self.restarts,
            last: self.last_restart,
        };
        for container in status.list("containerStatuses").iter().rev() {
            restarts.add(container);
            let state = container.at("state");
            let waiting = state.at("waiting").text("reason");
            if !waiting.is_empty() {
                waiting.clone_into(&mut self.reason);
            } else if state.at("terminated").is_object() {
                self.reason = end_of(state.at("terminated"));
            } else if container.flag("ready") && state.at("running").is_object() {
                running = true;
                self.ready += 1;
            }
        }
        self.restarts = restarts.count;
        self.last_restart = restarts.last;
        if self.reason == "Completed" && running {
            let reason = if condition(status, "Ready") {
                "Running"
            } else {
                "NotReady"
            };
            reason.clone_into(&mut self.reason);
        }
    }
}

#[derive(Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count += count(container, "restartCount");
        let before = container.at("lastState").at("terminated");
        self.last = self.last.max(time(before.at("finishedAt")));
    }
}

/// Why a container ended: its reason, else its signal, else its exit code.
fn end_of(terminated: &Value) -> String {
    match (terminated.text("reason"), count(terminated, "signal")) {
        ("", 0) => format!("ExitCode:{}", count(terminated, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn readiness_gates(spec: &Value, status: &Value) -> String {
    let gates = spec.list("readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let met = gates
        .iter()
        .filter(|gate| condition(status, gate.text("conditionType")))
        .count();
    format!("{met}/{}", gates.len())
}
