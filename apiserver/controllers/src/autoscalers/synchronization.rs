//! One synchronization of an autoscaler, from the scale of its target to its new status.

use kubewright_apimachinery::selectors::Labels;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::annotations::Metrics;
use super::calculator::Calculator;
use super::limits::{Behavior, HIGHER, Range, limited};
use super::memory::{Known, Memory};
use super::pods::Pod;
use super::sources::Sources;
use super::status::Status;
use super::target::Target;
use super::tolerances::Tolerances;
use crate::object::{list, text};
use crate::recorder::Kind;
use crate::work::Context;

/// One synchronization.
pub(super) struct Synchronization<'a> {
    memory: &'a Memory,
    cx: &'a Context,
    path: &'a str,
    autoscaler: &'a Value,
    behavior: Option<Behavior>,
    range: Range,
    status: Status,
    events: Vec<Event>,
}

/// An event about the autoscaler.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) kind: Kind,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// What the metrics propose together.
struct Proposed {
    replicas: i32,
    metric: String,
    statuses: Vec<Value>,
}

/// Why the metrics propose nothing. Metrics without pods have no statuses.
struct Failed {
    statuses: Value,
    error: String,
}

/// The replicas that the target gets, and why.
struct Decision {
    replicas: i32,
    reason: String,
    statuses: Value,
}

impl<'a> Synchronization<'a> {
    pub(super) fn new(
        memory: &'a Memory,
        cx: &'a Context,
        path: &'a str,
        autoscaler: &'a Value,
    ) -> Self {
        let spec = &autoscaler["spec"];
        let replicas = |field: &str, default| match spec[field].as_i64() {
            Some(replicas) => i32::try_from(replicas).unwrap_or(i32::MAX),
            None => default,
        };
        Self {
            memory,
            cx,
            path,
            autoscaler,
            behavior: Behavior::of(spec),
            range: Range {
                least: replicas("minReplicas", 1),
                most: replicas("maxReplicas", 1),
            },
            status: Status::of(autoscaler, cx.clock.text()),
            events: Vec::new(),
        }
    }

    /// Returns the status of the autoscaler and the events about it.
    pub(super) async fn run(mut self) -> (Value, Vec<Event>) {
        self.synchronize().await;
        (self.status.into_value(), self.events)
    }

    async fn synchronize(&mut self) {
        let mut target = match Target::read(self.cx, self.autoscaler).await {
            Ok(target) => target,
            Err(failure) => {
                let why = failure.to_string();
                let message = format!(
                    "the HPA controller was unable to get the target's current scale: {why}"
                );
                self.event(Kind::Warning, "FailedGetScale", why);
                let status = &mut self.status;
                return status.set("AbleToScale", false, "FailedGetScale", &message);
            }
        };
        let message = "the HPA controller was able to get the target's current scale";
        self.status
            .set("AbleToScale", true, "SucceededGetScale", message);
        let current = target.wanted();
        self.remember(|known| known.history.start(Instant::now(), current));
        let decision = match self.decide(&target) {
            Ok(decision) => decision,
            Err(Failed { statuses, error }) => {
                self.report(current, self.status.desired(), statuses);
                return self.event(Kind::Warning, "FailedComputeMetricsReplicas", error);
            }
        };
        let mut desired = decision.replicas;
        let rescales = desired != current;
        if rescales && !self.rescale(&mut target, current, &decision).await {
            desired = self.status.desired();
        } else if rescales {
            self.status.scaled_now();
        }
        self.report(current, desired, decision.statuses);
    }

    fn report(&mut self, current: i32, desired: i32, metrics: Value) {
        self.status.put_replicas(current, desired);
        self.status.put_metrics(metrics);
        self.status.observe(self.autoscaler);
    }

    fn decide(&mut self, target: &Target) -> Result<Decision, Failed> {
        let current = target.wanted();
        let Range { least, most } = self.range;
        let without_metrics = |replicas, reason: &str| Decision {
            replicas,
            reason: reason.to_owned(),
            statuses: Value::Null,
        };
        let scaled_to_zero = self.status.is("ScaledToZero");
        if current == 0 {
            if !(scaled_to_zero && (least != 0 || self.has_metrics_without_pods())) {
                let message = "scaling is disabled since the replica count of the target is zero";
                self.status
                    .set("ScalingActive", false, "ScalingDisabled", message);
                return Ok(without_metrics(0, ""));
            }
        } else if current > most {
            let reason = "Current number of replicas above Spec.MaxReplicas";
            return Ok(without_metrics(most, reason));
        } else if current < least {
            let reason = "Current number of replicas below Spec.MinReplicas";
            return Ok(without_metrics(least, reason));
        }
        let proposed = self.propose(target)?;
        let replicas = proposed.replicas.max(0);
        let mut reason = match replicas.cmp(&current) {
            std::cmp::Ordering::Greater => format!("{} above target", proposed.metric),
            std::cmp::Ordering::Less => "All metrics below target".to_owned(),
            std::cmp::Ordering::Equal => String::new(),
        };
        let mut replicas = self.normalized(current, replicas);
        if current == 0 && replicas < least {
            replicas = least;
            if reason.is_empty() {
                "Current number of replicas below Spec.MinReplicas".clone_into(&mut reason);
            }
        }
        Ok(Decision {
            replicas,
            reason,
            statuses: proposed.statuses.into(),
        })
    }

    /// Whether there are metrics by which a target without pods can be scaled.
    fn has_metrics_without_pods(&self) -> bool {
        let mut metrics = list(self.autoscaler, "/spec/metrics").iter();
        metrics.any(|metric| matches!(text(metric, "/type"), "Object" | "External"))
    }

    /// The largest number of replicas that one of the metrics proposes.
    fn propose(&mut self, target: &Target) -> Result<Proposed, Failed> {
        let pods = self.pods(target).map_err(|error| Failed {
            statuses: Value::Null,
            error,
        })?;
        let current = target.wanted();
        let sources = Sources {
            calculator: Calculator {
                pods: &pods,
                current,
                existing: target.existing(),
                tolerances: Tolerances::of(self.behavior.as_ref()),
                now: self.cx.clock.now(),
            },
            metrics: Metrics {
                cx: self.cx,
                namespace: text(self.autoscaler, "/metadata/namespace"),
            },
        };
        let metrics = list(self.autoscaler, "/spec/metrics");
        let mut proposed = Proposed {
            replicas: 0,
            metric: String::new(),
            statuses: Vec::new(),
        };
        let mut unable = Vec::new();
        for metric in metrics {
            match sources.propose(metric) {
                Ok(proposal) => {
                    if proposed.replicas == 0 || proposal.replicas > proposed.replicas {
                        proposed.replicas = proposal.replicas;
                        proposed.metric = proposal.metric;
                    }
                    proposed.statuses.push(proposal.status);
                }
                Err(why) => {
                    self.event(Kind::Warning, why.reason, why.message.clone());
                    // Go writes the status of a metric that it does not know so.
                    proposed.statuses.push(json!({"type": ""}));
                    unable.push(why);
                }
            }
        }
        if let Some(first) = unable.first()
            && (unable.len() == metrics.len() || proposed.replicas < current)
        {
            let message = format!(
                "the HPA was unable to compute the replica count: {}",
                first.message
            );
            self.status
                .set("ScalingActive", false, first.reason, &message);
            let (invalid, all) = (unable.len(), metrics.len());
            let error = format!(
                "invalid metrics ({invalid} invalid out of {all}), first error is: {}",
                first.error
            );
            return Err(Failed {
                statuses: proposed.statuses.into(),
                error,
            });
        }
        let message = format!(
            "the HPA was able to successfully calculate a replica count from {}",
            proposed.metric
        );
        self.status
            .set("ScalingActive", true, "ValidMetricFound", &message);
        Ok(proposed)
    }

    /// The pods of the target, which no other autoscaler may have.
    fn pods(&mut self, target: &Target) -> Result<Vec<Pod>, String> {
        let selector = target.selector();
        if selector.is_empty() {
            let message = "the HPA target's scale is missing a selector";
            self.status
                .set("ScalingActive", false, "InvalidSelector", message);
            let error = "selector is required".to_owned();
            self.event(Kind::Warning, "SelectorRequired", error.clone());
            return Err(error);
        }
        let parsed = match Labels::parse(selector) {
            Ok(parsed) => parsed,
            Err(why) => {
                let error = format!(
                    "couldn't convert selector into a corresponding internal selector object: {why}"
                );
                return Err(self.unselectable("InvalidSelector", error));
            }
        };
        let namespace = text(self.autoscaler, "/metadata/namespace");
        self.remember(|known| known.selector = Some(parsed.clone()));
        let pods = self.cx.look(|graph| graph.list("pods", namespace));
        let pods: Vec<Pod> = pods
            .iter()
            .filter(|pod| parsed.is_empty() || parsed.matches(Some(pod.object.labels())))
            .map(|pod| Pod::new(pod.object.value()))
            .collect();
        let objects: Vec<Value> = pods.iter().map(|pod| pod.object.clone()).collect();
        let selecting = self.memory.selecting(namespace, &objects);
        if selecting.len() > 1 {
            let some: Vec<String> = selecting
                .iter()
                .take(2)
                .map(|name| format!("{{{name} {namespace}}}"))
                .collect();
            let error = format!(
                "pods by selector {selector} are controlled by more than one HPA (e.g. [{}])",
                some.join(" ")
            );
            return Err(self.unselectable("AmbiguousSelector", error));
        }
        Ok(pods)
    }

    fn unselectable(&mut self, reason: &'static str, error: String) -> String {
        self.status.set("ScalingActive", false, reason, &error);
        self.event(Kind::Warning, reason, error.clone());
        error
    }

    /// The replicas within the windows, the policies and the range of the autoscaler.
    fn normalized(&mut self, current: i32, proposed: i32) -> i32 {
        let now = Instant::now();
        let (range, behavior) = (self.range, self.behavior.clone());
        let normalized = self.remember(|Known { history, .. }| match &behavior {
            None => {
                let stabilized = history.stabilized(now, proposed);
                let why = ("ScaleDownStabilized", HIGHER);
                (stabilized, why, limited(range, current, stabilized))
            }
            Some(behavior) => {
                let (stabilized, reason, message) =
                    history.stabilized_by(now, current, proposed, behavior);
                let limited = history.limited_by(now, range, current, stabilized, behavior);
                (stabilized, (reason, message), limited)
            }
        });
        // An autoscaler that was deleted meanwhile scales no more.
        let Some((stabilized, (reason, message), limited)) = normalized else {
            return current;
        };
        let (reason, message) = if stabilized == proposed {
            ("ReadyForNewScale", "recommended size matches current size")
        } else {
            (reason, message)
        };
        self.status.set("AbleToScale", true, reason, message);
        let (replicas, reason, message) = limited;
        self.status
            .set("ScalingLimited", replicas != stabilized, reason, message);
        replicas
    }

    /// Scales the target; false if it cannot be scaled.
    async fn rescale(&mut self, target: &mut Target, current: i32, decision: &Decision) -> bool {
        let Decision {
            replicas, reason, ..
        } = decision;
        let replicas = *replicas;
        if let Err(failure) = target.scale(self.cx, replicas).await {
            let message =
                format!("the HPA controller was unable to update the target scale: {failure}");
            self.status
                .set("AbleToScale", false, "FailedUpdateScale", &message);
            let message = format!("New size: {replicas}; reason: {reason}; error: {failure}");
            self.event(Kind::Warning, "FailedRescale", message);
            return false;
        }
        let message =
            format!("the HPA controller was able to update the target scale to {replicas}");
        self.status
            .set("AbleToScale", true, "SucceededRescale", &message);
        let message = format!("New size: {replicas}; reason: {reason}");
        self.event(Kind::Normal, "SuccessfulRescale", message);
        if let Some(behavior) = self.behavior.clone() {
            let now = Instant::now();
            self.remember(|known| known.history.scaled(now, current, replicas, &behavior));
        }
        let to_zero = replicas == 0 && self.range.least == 0 && self.has_metrics_without_pods();
        let (reason, message) = if to_zero {
            (
                "ScaledToZero",
                "the HPA controller scaled the workload to zero",
            )
        } else {
            (
                "NotScaledToZero",
                "the HPA controller did not scale the workload to zero",
            )
        };
        self.status.set("ScaledToZero", to_zero, reason, message);
        true
    }

    fn remember<T>(&self, change: impl FnOnce(&mut Known) -> T) -> Option<T> {
        self.memory.change(self.path, change)
    }

    fn event(&mut self, kind: Kind, reason: &'static str, message: String) {
        self.events.push(Event {
            kind,
            reason,
            message,
        });
    }
}
