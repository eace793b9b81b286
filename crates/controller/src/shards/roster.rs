//! The replicas of a sharded controller and the shards that each of them holds, as one Lease says it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::election::{Record, micro_time, whole_seconds};

/// The replicas, by their identities.
pub(crate) type Roster = BTreeMap<String, Member>;

/// One replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Member {
    /// Another number with each renewal.
    pub(crate) beat: u64,
    /// How long the others wait for the next one, in seconds.
    #[serde(rename = "leaseDurationSeconds")]
    lease: u64,
    /// Which objects are shared, and among how many shards. Shards of different splits have nothing to do with each other.
    pub(crate) split: String,
    pub(crate) shards: BTreeSet<usize>,
}

impl Member {
    pub(crate) fn new(beat: u64, lease: Duration, split: String, shards: BTreeSet<usize>) -> Self {
        Self {
            beat,
            lease: whole_seconds(lease),
            split,
            shards,
        }
    }

    pub(crate) fn lease(&self) -> Duration {
        Duration::from_secs(self.lease)
    }
}

/// Reads the roster of a Lease, if there is one, and it is one.
pub(crate) fn read(lease: &Record) -> Option<Roster> {
    let text = lease.as_json()["metadata"]["annotations"][ANNOTATION].as_str()?;
    match serde_json::from_str(text) {
        Ok(roster) => Some(roster),
        Err(error) => {
            let lease = format!("{}/{}", lease.namespace(), lease.name());
            tracing::error!(lease, %error, "cannot read the annotation {ANNOTATION} of the Lease; beginning anew");
            None
        }
    }
}

/// The same Lease with another roster.
pub(crate) fn written(lease: &Record, roster: &Roster, now: Timestamp) -> Record {
    let longest = roster.values().map(Member::lease).max();
    let mut lease = lease.as_json().clone();
    lease["metadata"]["annotations"][ANNOTATION] = json!(roster).to_string().into();
    // For people: the rules are by the beats alone.
    lease["spec"]["renewTime"] = micro_time(now);
    lease["spec"]["leaseDurationSeconds"] = longest.map_or(1, |longest| longest.as_secs()).into();
    Record::of(lease)
}

/// Where a Lease has its roster, as JSON.
const ANNOTATION: &str = "kubewright.dev/shards";

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(15);

    fn lease() -> Record {
        Record::of(json!({
            "metadata": {"name": "gardens-shards", "annotations": {"team": "blue"}},
            "spec": {"strategy": "OldestEmulationVersion"},
        }))
    }

    fn now() -> Timestamp {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }

    #[test]
    fn what_is_written_is_read_and_the_rest_of_the_lease_stays() {
        let member = Member::new(7, LEASE, "gardens/4".to_owned(), [0, 2].into());
        let roster = Roster::from([("gardener-0".to_owned(), member)]);
        let lease = written(&lease(), &roster, now());
        assert_eq!(read(&lease), Some(roster));
        let json = lease.as_json();
        let text = r#"{"gardener-0":{"beat":7,"leaseDurationSeconds":15,"shards":[0,2],"split":"gardens/4"}}"#;
        assert_eq!(json["metadata"]["annotations"][ANNOTATION], text);
        assert_eq!(json["metadata"]["annotations"]["team"], "blue");
        assert_eq!(json["spec"]["strategy"], "OldestEmulationVersion");
        assert_eq!(json["spec"]["leaseDurationSeconds"], 15);
    }

    #[test]
    fn a_lease_without_a_roster_or_with_an_unreadable_one_has_none() {
        assert_eq!(read(&lease()), None);
        let torn = Record::of(json!({"metadata": {"annotations": {ANNOTATION: "{\"a\": 1"}}}));
        assert_eq!(read(&torn), None);
    }
}
