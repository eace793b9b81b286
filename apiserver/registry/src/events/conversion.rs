//! Events of the core group and of events.k8s.io: the same objects under other names.

use kubewright_apimachinery::view::Edit;
use serde_json::Value;

/// The names in the core group, and those in events.k8s.io.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

pub(super) fn from_core(event: &mut Value) {
    for (core, own) in NAMES {
        rename(event, core, own);
    }
    // Only the core group writes these where they say nothing.
    if let Value::Object(map) = event {
        for name in ["reportingController", "reportingInstance"] {
            if map.get(name).is_some_and(|value| value == "") {
                map.remove(name);
            }
        }
    }
}

/// Gives an event of events.k8s.io the names of the core group.
pub(super) fn to_core(event: &mut Value) {
    for (core, own) in NAMES {
        rename(event, own, core);
    }
    for name in ["reportingComponent", "reportingInstance"] {
        event.fill(name, "");
    }
}

fn rename(event: &mut Value, from: &str, to: &str) {
    if let Value::Object(map) = event
        && let Some(value) = map.remove(from)
    {
        map.insert(to.to_owned(), value);
    }
}
