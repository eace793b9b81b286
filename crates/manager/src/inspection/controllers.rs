//! The controllers of a program: what waits, what is at work, what fails and why.

use kubewright_controller::{Key, Meter, WaitingObject, Workload};
use serde_json::{Map, Value, json};

use super::moment::Moment;
use super::{Inspection, MOST, Reconciles, shown};
use crate::traces;

impl Inspection {
    pub(super) fn controllers(&self, meters: Vec<Meter>, reconciles: Reconciles) {
        self.section("controllers", move |now| {
            let controller = |meter: &Meter| controller(meter, &reconciles, now);
            meters.iter().map(controller).collect()
        });
    }
}

fn controller(meter: &Meter, reconciles: &Reconciles, now: &Moment) -> Value {
    let load = meter.read();
    let reconciles = reconciles(meter.controller()).into_iter();
    let reconciles: Map<String, Value> = reconciles
        .map(|(outcome, count)| (outcome.to_owned(), json!(count)))
        .collect();
    let mut shown = json!({
        "name": meter.controller(),
        "kind": meter.kind().to_string(),
        "isRunning": false,
        "workers": load.workers,
        "adds": load.adds,
        "retries": load.retries,
        "rateLimitedSeconds": load.rate_limited.as_secs_f64(),
        "triggerCalls": meter.trigger_calls(),
        "reconciles": reconciles,
    });
    if let (Some(workload), Value::Object(shown)) = (meter.workload(MOST), &mut shown) {
        shown.insert("isRunning".to_owned(), json!(true));
        shown.extend(objects(&workload, now));
    }
    shown
}

fn objects(workload: &Workload, now: &Moment) -> [(String, Value); 4] {
    let in_progress = workload.in_progress.iter().map(|reconcile| {
        of(
            &reconcile.key,
            json!({
                "since": now.ago(reconcile.lasted),
                "failures": reconcile.failures,
                "traceID": traces::trace_id(&reconcile.span),
            }),
        )
    });
    let waiting = workload.waiting.iter().map(|object| {
        let WaitingObject {
            priority, failures, ..
        } = object;
        let since = now.ago(object.waited);
        of(
            &object.key,
            json!({"since": since, "priority": priority, "failures": failures}),
        )
    });
    let delayed = workload.delayed.iter().map(|object| {
        let WaitingObject {
            priority, failures, ..
        } = object;
        let until = now.later(object.returns_in);
        of(
            &object.key,
            json!({"until": until, "priority": priority, "failures": failures}),
        )
    });
    let failing = workload.failing.iter().map(|object| {
        of(
            &object.key,
            json!({
                "failures": object.failures,
                "isTerminal": object.failures == 0,
                "since": now.ago(object.since),
                "last": now.ago(object.last),
                "error": object.error.as_deref().map(shown),
            }),
        )
    });
    [
        list("inProgress", workload.in_progress_total, in_progress),
        list("waiting", workload.waiting_total, waiting),
        list("delayed", workload.delayed_total, delayed),
        list("failing", workload.failing_total, failing),
    ]
}

fn list(name: &str, total: usize, items: impl Iterator<Item = Value>) -> (String, Value) {
    let items: Vec<Value> = items.collect();
    (name.to_owned(), json!({"total": total, "items": items}))
}

/// What is said of an object, with where it is.
fn of(key: &Key, mut said: Value) -> Value {
    said["namespace"] = json!(key.namespace());
    said["name"] = json!(key.name());
    said
}
