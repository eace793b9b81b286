//! The slice of each endpoint: few slices change, and none has more than a hundred endpoints.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::object::{list, map};
use super::slice::{MOST, are_equal, identity, own_labels};

/// The endpoints that there shall be, by their identity.
pub(super) type Wanted = BTreeMap<[String; 4], Value>;

/// Slices that are to be written.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) create: Vec<Value>,
    pub(super) update: Vec<Value>,
    pub(super) delete: Vec<Value>,
    pub(super) unchanged: Vec<Value>,
}

impl Changes {
    pub(super) fn append(&mut self, mut other: Self) {
        self.create.append(&mut other.create);
        self.update.append(&mut other.update);
        self.delete.append(&mut other.delete);
        self.unchanged.append(&mut other.unchanged);
    }
}

/// Places endpoints in slices of the same ports, of which `empty` is one without endpoints.
pub(super) fn place(
    mut wanted: Wanted,
    existing: Vec<Value>,
    empty: &Value,
    labels: &Map<String, Value>,
) -> Changes {
    let mut changes = Changes::default();
    for mut slice in existing {
        let before = list(&slice, "/endpoints");
        let mut kept = Vec::new();
        let mut changed = false;
        for endpoint in before {
            if let Some(endpoint_wanted) = wanted.remove(&identity(endpoint)) {
                changed |= !are_equal(&endpoint_wanted, endpoint);
                kept.push(with_hints_of(endpoint_wanted, endpoint));
            }
        }
        let relabeled = own_labels(map(&slice, "/metadata/labels")) != own_labels(labels.clone());
        if changed || kept.len() != before.len() {
            if kept.is_empty() {
                changes.delete.push(slice);
                continue;
            }
            slice["endpoints"] = kept.into();
        } else if !relabeled {
            changes.unchanged.push(slice);
            continue;
        }
        slice["metadata"]["labels"] = labels.clone().into();
        changes.update.push(slice);
    }
    let mut rest: Vec<Value> = wanted.into_values().collect();
    let fullest = |slice: &Value| std::cmp::Reverse(list(slice, "/endpoints").len());
    changes.update.sort_by_key(fullest);
    for slice in &mut changes.update {
        fill(slice, &mut rest);
    }
    while !rest.is_empty() {
        let roomy = closest_to_full(&changes.unchanged, rest.len());
        if let Some(at) = roomy {
            let mut slice = changes.unchanged.remove(at);
            fill(&mut slice, &mut rest);
            changes.update.push(slice);
        } else {
            let mut slice = empty.clone();
            fill(&mut slice, &mut rest);
            changes.create.push(slice);
        }
    }
    changes
}

/// Hints are set for whole slices later: those of an endpoint that stays are no change.
fn with_hints_of(mut wanted: Value, stored: &Value) -> Value {
    if let (Some(hints), Some(wanted)) = (stored.get("hints"), wanted.as_object_mut()) {
        wanted.insert("hints".to_owned(), hints.clone());
    }
    wanted
}

fn fill(slice: &mut Value, rest: &mut Vec<Value>) {
    if let Value::Array(endpoints) = &mut slice["endpoints"] {
        let room = MOST.saturating_sub(endpoints.len()).min(rest.len());
        endpoints.extend(rest.drain(..room));
    } else {
        let room = MOST.min(rest.len());
        slice["endpoints"] = rest.drain(..room).collect();
    }
}

/// The slice that has the least room left when it has taken all the rest; none if there is no room for it.
fn closest_to_full(slices: &[Value], rest: usize) -> Option<usize> {
    if rest >= MOST {
        return None;
    }
    let fitting = slices.iter().enumerate().filter_map(|(at, slice)| {
        let room = MOST.checked_sub(list(slice, "/endpoints").len() + rest)?;
        Some((room, at))
    });
    fitting.min().map(|(_, at)| at)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn endpoint(at: usize) -> Value {
        json!({"addresses": [format!("10.0.{}.{}", at / 256, at % 256)], "conditions": {"ready": true}})
    }

    fn wanted(range: std::ops::Range<usize>) -> Wanted {
        let all = range.map(endpoint);
        all.map(|endpoint| (identity(&endpoint), endpoint))
            .collect()
    }

    fn slice(name: &str, range: std::ops::Range<usize>) -> Value {
        let endpoints: Vec<Value> = range.map(endpoint).collect();
        json!({"metadata": {"name": name}, "endpoints": endpoints})
    }

    fn placed(wanted: Wanted, existing: Vec<Value>) -> Changes {
        place(wanted, existing, &json!({"endpoints": []}), &Map::new())
    }

    fn sizes(slices: &[Value]) -> Vec<usize> {
        slices
            .iter()
            .map(|slice| list(slice, "/endpoints").len())
            .collect()
    }

    #[test]
    fn a_slice_has_at_most_a_hundred_endpoints() {
        let changes = placed(wanted(0..250), Vec::new());
        assert_eq!(sizes(&changes.create), [100, 100, 50]);
    }

    #[test]
    fn new_endpoints_fill_the_slice_that_they_make_fullest() {
        let existing = vec![
            slice("a", 0..90),
            slice("b", 100..150),
            slice("c", 200..270),
        ];
        let mut all = wanted(0..90);
        all.extend(wanted(100..150));
        all.extend(wanted(200..290));
        let changes = placed(all, existing);
        assert_eq!(sizes(&changes.update), [90]);
        assert_eq!(changes.update[0]["metadata"]["name"], "c");
        assert_eq!(sizes(&changes.unchanged), [90, 50]);
        assert!(changes.create.is_empty() && changes.delete.is_empty());
    }

    #[test]
    fn a_slice_that_changes_anyway_is_filled_first() {
        let existing = vec![slice("a", 0..95), slice("b", 100..110)];
        let mut all = wanted(0..95);
        all.extend(wanted(101..111));
        let changes = placed(all, existing);
        assert_eq!(sizes(&changes.update), [10]);
        assert_eq!(changes.update[0]["metadata"]["name"], "b");
    }

    #[test]
    fn a_slice_without_endpoints_is_deleted() {
        let changes = placed(wanted(0..1), vec![slice("a", 0..1), slice("b", 5..7)]);
        assert_eq!(changes.delete[0]["metadata"]["name"], "b");
        assert_eq!(sizes(&changes.unchanged), [1]);
    }
}
