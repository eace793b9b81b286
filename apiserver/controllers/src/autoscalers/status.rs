//! The status of an autoscaler, as one synchronization changes it.

use serde_json::{Map, Value, json};

use crate::object::map;

/// A status, with the time that changed conditions get.
#[derive(Debug)]
pub(super) struct Status {
    fields: Map<String, Value>,
    now: String,
}

impl Status {
    pub(super) fn of(autoscaler: &Value, now: String) -> Self {
        Self {
            fields: map(autoscaler, "/status"),
            now,
        }
    }

    /// Whether a condition holds.
    pub(super) fn is(&self, condition: &str) -> bool {
        let conditions = self.fields.get("conditions").and_then(Value::as_array);
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|known| known["type"] == condition && known["status"] == "True")
    }

    /// Sets a condition in its place, or behind the others.
    pub(super) fn set(&mut self, condition: &str, holds: bool, reason: &str, message: &str) {
        let conditions = self.fields.entry("conditions").or_insert_with(|| json!([]));
        let Value::Array(conditions) = conditions else {
            return;
        };
        let known = conditions
            .iter()
            .position(|known| known["type"] == condition);
        let at = known.unwrap_or_else(|| {
            conditions.push(json!({"type": condition}));
            conditions.len() - 1
        });
        let is = if holds { "True" } else { "False" };
        let condition = &mut conditions[at];
        if condition["status"] != is {
            condition["lastTransitionTime"] = self.now.as_str().into();
        }
        condition["status"] = is.into();
        condition["reason"] = reason.into();
        condition["message"] = message.into();
    }

    /// The number of replicas that the last synchronization wanted.
    pub(super) fn desired(&self) -> i32 {
        let desired = self.fields.get("desiredReplicas").and_then(Value::as_i64);
        i32::try_from(desired.unwrap_or_default()).unwrap_or_default()
    }

    pub(super) fn put_replicas(&mut self, current: i32, desired: i32) {
        // Go leaves out only the current replicas if there are none.
        if current == 0 {
            self.fields.remove("currentReplicas");
        } else {
            self.put("currentReplicas", current.into());
        }
        self.put("desiredReplicas", desired.into());
    }

    pub(super) fn put_metrics(&mut self, metrics: Value) {
        self.put("currentMetrics", metrics);
    }

    pub(super) fn observe(&mut self, autoscaler: &Value) {
        let generation = autoscaler["metadata"]["generation"].clone();
        self.put("observedGeneration", generation);
    }

    pub(super) fn scaled_now(&mut self) {
        let now = self.now.as_str().into();
        self.put("lastScaleTime", now);
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.fields)
    }

    fn put(&mut self, field: &str, value: Value) {
        self.fields.insert(field.to_owned(), value);
    }
}
