//! The record of an election in a Lease, with the fields that client-go writes.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

/// A Lease as the API server sent it. Writes keep every field that is not part of the election.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record(Value);

impl Record {
    /// The record of a Lease that does not exist yet.
    pub(crate) fn absent(namespace: &str, name: &str) -> Self {
        Self(json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {},
        }))
    }

    pub(crate) fn of(lease: Value) -> Self {
        Self(lease)
    }

    pub(crate) fn as_json(&self) -> &Value {
        &self.0
    }

    pub(crate) fn namespace(&self) -> &str {
        self.0["metadata"]["namespace"].as_str().unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.0["metadata"]["name"].as_str().unwrap_or_default()
    }

    pub(crate) fn uid(&self) -> &str {
        self.0["metadata"]["uid"].as_str().unwrap_or_default()
    }

    pub(crate) fn version(&self) -> &str {
        let version = self.0["metadata"]["resourceVersion"].as_str();
        version.unwrap_or_default()
    }

    /// The holder, if the Lease has one.
    pub(crate) fn holder(&self) -> Option<&str> {
        let holder = self.0["spec"]["holderIdentity"].as_str();
        holder.filter(|holder| !holder.is_empty())
    }

    /// How long others wait for the holder to renew it.
    pub(crate) fn duration(&self) -> Option<Duration> {
        let seconds = self.0["spec"]["leaseDurationSeconds"].as_u64()?;
        Some(Duration::from_secs(seconds)).filter(|duration| !duration.is_zero())
    }

    /// The same Lease, taken or renewed by a candidate.
    pub(crate) fn held_by(&self, identity: &str, duration: Duration, now: Timestamp) -> Self {
        let mut record = self.clone();
        let is_renewed = self.holder() == Some(identity);
        let transitions = match (self.version(), self.transitions()) {
            ("", _) => 0,
            (_, transitions) if is_renewed => transitions,
            (_, transitions) => transitions.saturating_add(1),
        };
        let spec = &mut record.0["spec"];
        if !is_renewed || spec["acquireTime"].is_null() {
            spec["acquireTime"] = micro_time(now);
        }
        spec["holderIdentity"] = identity.into();
        spec["leaseDurationSeconds"] = whole_seconds(duration).into();
        spec["renewTime"] = micro_time(now);
        spec["leaseTransitions"] = transitions.into();
        record
    }

    /// The same Lease without a holder.
    pub(crate) fn released(&self, now: Timestamp) -> Self {
        let mut record = self.clone();
        let transitions = self.transitions();
        let spec = &mut record.0["spec"];
        spec["holderIdentity"] = "".into();
        // What client-go writes; the API server takes no zero.
        spec["leaseDurationSeconds"] = 1.into();
        spec["acquireTime"] = micro_time(now);
        spec["renewTime"] = micro_time(now);
        spec["leaseTransitions"] = transitions.into();
        record
    }

    pub(super) fn transitions(&self) -> i64 {
        self.0["spec"]["leaseTransitions"]
            .as_i64()
            .unwrap_or_default()
    }
}

/// A Lease says whole seconds, and others must never wait for less than what was meant.
pub(crate) fn whole_seconds(duration: Duration) -> u64 {
    duration
        .as_millis()
        .div_ceil(1000)
        .try_into()
        .unwrap_or(u64::MAX)
}

pub(crate) fn micro_time(time: Timestamp) -> Value {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(15);

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn stored(mut record: Record, version: &str) -> Record {
        record.0["metadata"]["resourceVersion"] = version.into();
        record
    }

    #[test]
    fn the_first_holder_is_no_transition() {
        let now = at("2026-01-02T03:04:05.6Z");
        let record = Record::absent("blue", "gardens").held_by("a", LEASE, now);
        assert_eq!(
            record.as_json()["spec"],
            json!({
                "holderIdentity": "a",
                "leaseDurationSeconds": 15,
                "acquireTime": "2026-01-02T03:04:05.600000Z",
                "renewTime": "2026-01-02T03:04:05.600000Z",
                "leaseTransitions": 0,
            })
        );
    }

    #[test]
    fn a_renewal_keeps_when_it_was_acquired_and_a_take_over_counts() {
        let (first, later) = (at("2026-01-02T03:04:05Z"), at("2026-01-02T03:04:07Z"));
        let absent = Record::absent("blue", "gardens");
        let held = stored(absent.held_by("a", LEASE, first), "7");
        let renewed = held.held_by("a", LEASE, later);
        assert_eq!(
            renewed.as_json()["spec"]["acquireTime"],
            "2026-01-02T03:04:05.000000Z"
        );
        assert_eq!(
            renewed.as_json()["spec"]["renewTime"],
            "2026-01-02T03:04:07.000000Z"
        );
        assert_eq!(renewed.as_json()["spec"]["leaseTransitions"], 0);
        let taken = held.held_by("b", LEASE, later);
        assert_eq!(
            taken.as_json()["spec"]["acquireTime"],
            "2026-01-02T03:04:07.000000Z"
        );
        assert_eq!(taken.as_json()["spec"]["leaseTransitions"], 1);
    }

    #[test]
    fn what_is_released_has_no_holder_and_the_next_one_counts() {
        let now = at("2026-01-02T03:04:05Z");
        let held = Record::absent("blue", "gardens").held_by("a", LEASE, now);
        let released = stored(held, "7").released(now);
        assert_eq!(released.holder(), None);
        assert_eq!(released.as_json()["spec"]["holderIdentity"], "");
        assert_eq!(released.as_json()["spec"]["leaseDurationSeconds"], 1);
        let next = released.held_by("b", LEASE, now);
        assert_eq!(next.as_json()["spec"]["leaseTransitions"], 1);
    }

    #[test]
    fn what_others_wrote_into_it_stays() {
        let lease = json!({
            "metadata": {"name": "gardens", "resourceVersion": "7", "labels": {"team": "blue"}},
            "spec": {"holderIdentity": "a", "strategy": "OldestEmulationVersion"},
        });
        let taken = Record::of(lease).held_by("b", LEASE, at("2026-01-02T03:04:05Z"));
        assert_eq!(taken.as_json()["metadata"]["labels"]["team"], "blue");
        assert_eq!(
            taken.as_json()["spec"]["strategy"],
            "OldestEmulationVersion"
        );
    }

    #[test]
    fn a_part_of_a_second_is_a_whole_one_to_others() {
        assert_eq!(whole_seconds(Duration::from_millis(14_001)), 15);
        assert_eq!(whole_seconds(Duration::from_secs(15)), 15);
    }

    #[test]
    fn a_lease_with_invalid_fields_has_no_holder_and_no_duration() {
        let lease = json!({"spec": {"holderIdentity": 7, "leaseDurationSeconds": -3, "leaseTransitions": "x"}});
        let record = Record::of(lease);
        assert_eq!(
            (record.holder(), record.duration(), record.transitions()),
            (None, None, 0)
        );
    }
}
