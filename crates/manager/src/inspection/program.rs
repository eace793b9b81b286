//! The parts of a program: what each is called, since when it runs, whether it has ended; tasks and checks.

use kubewright_server::Readiness;
use serde_json::{Map, Value, json};

use super::moment::Moment;
use super::{Inspection, shown};
use crate::parts::{Part, Roll};
use crate::task::{LastRun, TaskState, Tasks};

impl Inspection {
    pub(super) fn checks(&self, liveness: Readiness, readiness: Readiness) {
        self.section(
            "checks",
            move |_| json!({"livez": checked(&liveness), "readyz": checked(&readiness)}),
        );
    }

    pub(super) fn parts(&self, roll: Roll) {
        self.section("parts", move |now| {
            let parts = roll.read().into_iter();
            parts.map(|part| of_part(&part, now)).collect()
        });
    }

    pub(super) fn tasks(&self, tasks: Tasks) {
        if tasks.is_empty() {
            return;
        }
        self.section("tasks", move |now| {
            let states = tasks.states().into_iter();
            states.map(|state| of_task(&state, now)).collect()
        });
    }
}

fn checked(checks: &Readiness) -> Value {
    let checks = checks.conditions().into_iter();
    let checks: Map<String, Value> = checks.map(|(name, holds)| (name, json!(holds))).collect();
    Value::Object(checks)
}

fn of_part(part: &Part, now: &Moment) -> Value {
    json!({
        "name": part.name,
        "since": now.ago(part.begun.elapsed()),
        "ended": part.ended.map(|ended| now.ago(ended.elapsed())),
        "panicked": part.has_panicked,
    })
}

fn of_task(state: &TaskState, now: &Moment) -> Value {
    let last = state.last.as_ref().map(|last| {
        let LastRun {
            begun,
            ended,
            outcome,
            error,
        } = last;
        json!({
            "begun": now.ago(begun.elapsed()),
            "ended": now.ago(ended.elapsed()),
            "outcome": outcome.as_str(),
            "error": error.as_deref().map(shown),
        })
    });
    json!({
        "name": &*state.name,
        "site": state.site.as_str(),
        "runningSince": state.running.map(|since| now.ago(since.elapsed())),
        "next": state.next.map(|next| next.to_string()),
        "failures": state.failures,
        "last": last,
    })
}
