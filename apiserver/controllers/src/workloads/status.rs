//! The parts that the statuses of workloads have in common: counts, conditions, and who is available.

use serde_json::{Map, Value, json};
use tokio::time::Duration;

use super::super::clock::Clock;
use super::super::object::Item;

/// Sets a count; Kubernetes leaves a zero out.
pub(super) fn set_count(status: &mut Map<String, Value>, name: &str, count: i64) {
    if count == 0 {
        status.remove(name);
    } else {
        status.insert(name.to_owned(), count.into());
    }
}

/// A number of things.
pub(crate) fn count<'a, T: 'a>(
    things: impl IntoIterator<Item = &'a T>,
    is: impl Fn(&T) -> bool,
) -> i64 {
    let count = things.into_iter().filter(|thing| is(thing)).count();
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The condition of a type.
pub(crate) fn condition<'a>(status: &'a Map<String, Value>, what: &str) -> Option<&'a Value> {
    let conditions = status.get("conditions").and_then(Value::as_array)?;
    conditions
        .iter()
        .find(|condition| condition["type"] == what)
}

/// Takes a condition away.
pub(super) fn remove_condition(status: &mut Map<String, Value>, what: &str) {
    let Some(Value::Array(conditions)) = status.get_mut("conditions") else {
        return;
    };
    conditions.retain(|condition| condition["type"] != what);
    if conditions.is_empty() {
        status.remove("conditions");
    }
}

/// Puts a condition behind the others, in the place of the one of its type.
pub(crate) fn put_condition(status: &mut Map<String, Value>, condition: Value) {
    let what = condition["type"].as_str().unwrap_or_default().to_owned();
    remove_condition(status, &what);
    let conditions = status
        .entry("conditions")
        .or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(conditions) = conditions {
        conditions.push(condition);
    }
}

/// Sets a condition with its two times, unless it has this status and reason already.
pub(super) fn set_condition(
    clock: &Clock,
    status: &mut Map<String, Value>,
    what: &str,
    (is, reason, message): (&str, &str, &str),
) {
    let now = clock.text();
    let mut since = now.clone();
    if let Some(current) = condition(status, what)
        && current["status"] == is
    {
        if current["reason"] == reason {
            return;
        }
        current["lastTransitionTime"]
            .as_str()
            .unwrap_or_default()
            .clone_into(&mut since);
    }
    put_condition(
        status,
        json!({
            "type": what,
            "status": is,
            "reason": reason,
            "message": message,
            "lastUpdateTime": now,
            "lastTransitionTime": since,
        }),
    );
}

/// How long it takes until a pod has been ready for long enough; none if it is not ready at all.
pub(super) fn until_available(clock: &Clock, pod: &Item, seconds: i64) -> Option<Duration> {
    if !pod.pod.ready {
        return None;
    }
    if seconds == 0 {
        return Some(Duration::ZERO);
    }
    Some(clock.until(&pod.pod.ready_since, seconds))
}

pub(super) fn is_available(clock: &Clock, pod: &Item, seconds: i64) -> bool {
    until_available(clock, pod, seconds).is_some_and(|left| left.is_zero())
}

/// When the next of these pods becomes available, if any of them is ready and waits for that.
pub(super) fn next_available<'a>(
    clock: &Clock,
    pods: impl IntoIterator<Item = &'a std::sync::Arc<Item>>,
    seconds: i64,
) -> Option<Duration> {
    pods.into_iter()
        .filter_map(|pod| until_available(clock, pod, seconds))
        .filter(|left| !left.is_zero())
        .min()
}
