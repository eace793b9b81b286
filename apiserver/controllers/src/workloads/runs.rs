//! The runs of a pod's containers on their node: what starts, ends and starts again, and when.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio::time::{Duration, Instant};

use super::super::object::{list, text};
use super::commands::{self, Files, Plan, Role, SIMULATE};

/// The containers of one pod.
#[derive(Debug, Default)]
pub(super) struct Runs {
    containers: BTreeMap<String, Container>,
    /// The annotation by which the runs were planned.
    annotation: Option<String>,
}

/// One container.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) state: State,
    pub(super) restarts: u64,
    pub(super) last: Option<Ended>,
    /// When it was started, if it ran before the kubelet was started.
    resumed: Option<String>,
}

#[derive(Debug)]
pub(super) enum State {
    /// It has not started: the reason.
    Waiting(&'static str),
    /// It cannot start, for this reason.
    Invalid(String),
    Running {
        since: Instant,
        started: String,
        plan: Plan,
    },
    Ended(Ended),
    /// It has ended and waits until this time to start again.
    Backing(Instant),
}

/// How a run ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) code: u8,
    pub(super) started: String,
    pub(super) finished: String,
}

/// What a step of all containers needs.
pub(super) struct Step<'a> {
    pub(super) pod: &'a Value,
    pub(super) now: Instant,
    /// The current time in the format of objects.
    pub(super) text: &'a str,
    /// The time that a container takes that ends by itself.
    pub(super) finished: Duration,
    pub(super) files: &'a mut Files,
}

/// Which containers a pod starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Restart {
    Always,
    OnFailure,
    Never,
}

impl Restart {
    fn of(policy: &str) -> Self {
        match policy {
            "OnFailure" => Self::OnFailure,
            "Never" => Self::Never,
            _ => Self::Always,
        }
    }

    fn again(self, code: u8) -> bool {
        match self {
            Self::Always => true,
            Self::OnFailure => code != 0,
            Self::Never => false,
        }
    }
}

impl Runs {
    /// Takes over what the status of a pod says that ran before the kubelet was started.
    pub(super) fn of(pod: &Value) -> Self {
        let mut runs = Self::default();
        for name in ["initContainerStatuses", "containerStatuses"] {
            for status in list(&pod["status"], &format!("/{name}")) {
                let ended = |at: &str| {
                    let ended = status.pointer(at)?;
                    Some(Ended {
                        code: ended["exitCode"].as_u64()?.try_into().unwrap_or(u8::MAX),
                        started: text(ended, "/startedAt").to_owned(),
                        finished: text(ended, "/finishedAt").to_owned(),
                    })
                };
                let resumed = status.pointer("/state/running/startedAt");
                let container = Container {
                    // One that ran is planned again, from now on.
                    state: ended("/state/terminated")
                        .map_or(State::Waiting("ContainerCreating"), State::Ended),
                    restarts: status["restartCount"].as_u64().unwrap_or_default(),
                    last: ended("/lastState/terminated"),
                    resumed: resumed.and_then(Value::as_str).map(str::to_owned),
                };
                let name = text(status, "/name").to_owned();
                runs.containers.insert(name, container);
            }
        }
        runs
    }

    /// Takes over what a container with a program does.
    pub(super) fn report(&mut self, name: &str, container: Container) {
        self.containers.insert(name.to_owned(), container);
    }

    pub(super) fn get(&self, name: &str) -> Option<&Container> {
        self.containers.get(name)
    }

    /// Brings all containers to what they do now; returns the time until the next change.
    pub(super) fn advance(&mut self, step: &mut Step<'_>) -> Option<Duration> {
        let pod = step.pod;
        let annotation = pod["metadata"]["annotations"][SIMULATE].as_str();
        let replan = self.annotation.as_deref() != annotation;
        self.annotation = annotation.map(str::to_owned);
        let policy = Restart::of(text(pod, "/spec/restartPolicy"));
        let mut next: Option<Duration> = None;
        let mut soonest = |left: Option<Duration>| {
            next = match (next, left) {
                (Some(next), Some(left)) => Some(next.min(left)),
                (next, left) => next.or(left),
            };
        };
        let mut initialized = true;
        for container in list(pod, "/spec/initContainers") {
            let sidecar = container["restartPolicy"] == "Always";
            let policy = match (sidecar, policy) {
                (true, _) => Restart::Always,
                (false, Restart::Never) => Restart::Never,
                (false, _) => Restart::OnFailure,
            };
            if !initialized {
                self.wait(container, "PodInitializing");
                continue;
            }
            let role = if sidecar { Role::Sidecar } else { Role::Init };
            soonest(self.tick(container, role, policy, replan, step));
            if !sidecar {
                initialized = self.has_succeeded(container);
            }
        }
        for container in list(pod, "/spec/containers") {
            if initialized {
                soonest(self.tick(container, Role::Main, policy, replan, step));
            } else {
                self.wait(container, "PodInitializing");
            }
        }
        next
    }

    fn wait(&mut self, container: &Value, reason: &'static str) {
        let name = text(container, "/name");
        if !self.containers.contains_key(name) {
            let waiting = Container {
                state: State::Waiting(reason),
                restarts: 0,
                last: None,
                resumed: None,
            };
            self.containers.insert(name.to_owned(), waiting);
        }
    }

    fn has_succeeded(&self, container: &Value) -> bool {
        let known = self.containers.get(text(container, "/name"));
        known.is_some_and(|known| matches!(&known.state, State::Ended(ended) if ended.code == 0))
    }

    /// Brings one container to what it does now.
    fn tick(
        &mut self,
        container: &Value,
        role: Role,
        policy: Restart,
        replan: bool,
        step: &mut Step<'_>,
    ) -> Option<Duration> {
        self.wait(container, "ContainerCreating");
        let known = self.containers.get_mut(text(container, "/name"))?;
        // The annotation is about the main containers alone.
        if replan && role == Role::Main {
            match &mut known.state {
                State::Running { since, plan, .. } => {
                    *since = step.now;
                    *plan = commands::plan(step.pod, container, role, step.finished, step.files);
                }
                State::Backing(due) => *due = step.now,
                State::Invalid(_) => known.state = State::Waiting("ContainerCreating"),
                State::Waiting(_) | State::Ended(_) => {}
            }
        }
        loop {
            match &mut known.state {
                State::Waiting(_) => known.start(container, role, step),
                State::Invalid(_) => return None,
                State::Backing(due) => {
                    let left = due.saturating_duration_since(step.now);
                    if !left.is_zero() {
                        return Some(left);
                    }
                    known.restarts += 1;
                    known.start(container, role, step);
                }
                State::Running {
                    since,
                    started,
                    plan,
                } => {
                    let Plan::Ends { after, code } = plan else {
                        return None;
                    };
                    let left = after.saturating_sub(step.now.saturating_duration_since(*since));
                    if !left.is_zero() {
                        return Some(left);
                    }
                    known.state = State::Ended(Ended {
                        code: *code,
                        started: std::mem::take(started),
                        finished: step.text.to_owned(),
                    });
                }
                State::Ended(ended) => {
                    if !policy.again(ended.code) {
                        return None;
                    }
                    let wait = backoff(known.restarts);
                    known.last = Some(ended.clone());
                    known.state = State::Backing(step.now + wait);
                }
            }
        }
    }
}

impl Container {
    /// A container with a program, whose state others know.
    pub(super) fn reported(state: State, restarts: u64, last: Option<Ended>) -> Self {
        Self {
            state,
            restarts,
            last,
            resumed: None,
        }
    }

    fn start(&mut self, container: &Value, role: Role, step: &mut Step<'_>) {
        let plan = commands::plan(step.pod, container, role, step.finished, step.files);
        self.state = match plan {
            Plan::Invalid(reason) => State::Invalid(reason),
            plan => State::Running {
                since: step.now,
                started: self.resumed.take().unwrap_or_else(|| step.text.to_owned()),
                plan,
            },
        };
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    pub(super) fn is_ready(&self) -> bool {
        let State::Running { plan, .. } = &self.state else {
            return false;
        };
        *plan != Plan::Unready
    }

    pub(super) fn code(&self) -> Option<u8> {
        match &self.state {
            State::Ended(ended) => Some(ended.code),
            _ => None,
        }
    }
}

/// The time that a container waits until it starts again: the first time none, then ever longer.
fn backoff(restarts: u64) -> Duration {
    const FIRST: Duration = Duration::from_secs(10);
    const LONGEST: Duration = Duration::from_mins(5);
    let Some(exponent) = restarts.checked_sub(1) else {
        return Duration::ZERO;
    };
    let factor = 2_u32.saturating_pow(u32::try_from(exponent).unwrap_or(u32::MAX));
    FIRST.saturating_mul(factor).min(LONGEST)
}

/// The phase of a pod whose containers do this.
pub(super) fn phase(pod: &Value, runs: &Runs) -> &'static str {
    let policy = Restart::of(text(pod, "/spec/restartPolicy"));
    for container in list(pod, "/spec/initContainers") {
        let Some(known) = runs.get(text(container, "/name")) else {
            return "Pending";
        };
        if container["restartPolicy"] == "Always" {
            continue;
        }
        match known.code() {
            Some(0) => {}
            Some(_) if policy == Restart::Never => return "Failed",
            _ => return "Pending",
        }
    }
    let (mut running, mut waiting, mut ended, mut failed) = (0, 0, 0, 0);
    for container in list(pod, "/spec/containers") {
        match runs.get(text(container, "/name")).map(|known| &known.state) {
            Some(State::Running { .. } | State::Backing(_)) => running += 1,
            Some(State::Ended(how)) => {
                ended += 1;
                failed += i32::from(how.code != 0);
            }
            _ => waiting += 1,
        }
    }
    match (waiting, running, ended) {
        (1.., ..) => "Pending",
        (_, 1.., _) => "Running",
        _ if ended > 0 && failed == 0 => "Succeeded",
        _ => "Failed",
    }
}
