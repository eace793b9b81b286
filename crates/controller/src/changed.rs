//! Which changes of an object matter.

use crate::informer::Delta;

/// Which changes of an object matter to a controller; all of them unless said.
///
/// New objects and those that are gone always matter, and so do the beginning of a deletion and a change of finalizers: a
/// controller that cleans up would never be called otherwise.
///
/// ```
/// use kubewright_controller::Changed;
///
/// let relevant = Changed::generation().or(Changed::labels());
/// # let _ = relevant;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Changed(u8);

impl Changed {
    /// Any change.
    pub const fn anything() -> Self {
        Self(ANYTHING)
    }

    /// A new generation: the desired state, for kinds that count its changes. Writes to the status never match.
    pub const fn generation() -> Self {
        Self(GENERATION)
    }

    /// Labels.
    pub const fn labels() -> Self {
        Self(LABELS)
    }

    /// Annotations.
    pub const fn annotations() -> Self {
        Self(ANNOTATIONS)
    }

    /// All but metadata and status. It keeps a controller's own writes to the status from calling it again, also for kinds
    /// without a generation.
    pub const fn content() -> Self {
        Self(CONTENT)
    }

    /// One or the other.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn matters(self, delta: &Delta) -> bool {
        let (Some(old), Some(new)) = (&delta.old, &delta.new) else {
            return true;
        };
        let (old, new) = (old.metadata(), new.metadata());
        let changed = |part: u8, has_changed: bool| self.0 & part != 0 && has_changed;
        old.uid() != new.uid()
            || old.is_being_deleted() != new.is_being_deleted()
            || old.finalizers() != new.finalizers()
            || changed(ANYTHING, true)
            || changed(GENERATION, old.generation() != new.generation())
            || changed(LABELS, old.labels() != new.labels())
            || changed(ANNOTATIONS, old.annotations() != new.annotations())
            || changed(CONTENT, old.content() != new.content())
    }
}

const ANYTHING: u8 = 1;
const GENERATION: u8 = 2;
const LABELS: u8 = 4;
const ANNOTATIONS: u8 = 8;
const CONTENT: u8 = 16;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::Entry;
    use crate::informer::Origin;

    fn object() -> Value {
        json!({
            "metadata": {"name": "a", "uid": "1", "resourceVersion": "1", "generation": 1,
                "labels": {"a": "a"}, "annotations": {"a": "a"}, "finalizers": ["a/a"]},
            "spec": {"a": "a"},
            "status": {"a": "a"},
        })
    }

    fn changed(pointer: &str, value: Value) -> Delta {
        let entry = |object: &Value| Some(Arc::new(Entry::read(&object.to_string()).unwrap()));
        let old = entry(&object());
        let mut new = object();
        new["metadata"]["resourceVersion"] = "2".into();
        new["metadata"]["deletionTimestamp"] = Value::Null;
        *new.pointer_mut(pointer).unwrap() = value;
        Delta {
            old,
            new: entry(&new),
            origin: Origin::Watch,
        }
    }

    #[test]
    fn each_part_matters_to_those_who_ask_for_it() {
        let parts = [
            (Changed::generation(), "/metadata/generation", json!(2)),
            (Changed::labels(), "/metadata/labels/a", json!("b")),
            (
                Changed::annotations(),
                "/metadata/annotations/a",
                json!("b"),
            ),
            (Changed::content(), "/spec/a", json!("b")),
        ];
        for (asked, pointer, value) in &parts {
            let delta = changed(pointer, value.clone());
            assert!(asked.matters(&delta), "{pointer}");
            assert!(Changed::anything().matters(&delta), "{pointer}");
            assert!(Changed(31).matters(&delta), "{pointer}");
            for (other, ..) in parts.iter().filter(|(other, ..)| other != asked) {
                assert!(!other.matters(&delta), "{pointer} matters to {other:?}");
                assert!(other.or(*asked).matters(&delta), "{pointer}");
            }
        }
    }

    #[test]
    fn a_status_matters_to_nobody_who_asks_for_something() {
        let delta = changed("/status/a", json!("b"));
        assert!(Changed::anything().matters(&delta));
        for asked in [2, 4, 8, 16, 30] {
            assert!(!Changed(asked).matters(&delta));
        }
    }

    #[test]
    fn the_ways_of_an_end_always_matter() {
        for (pointer, value) in [
            ("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")),
            ("/metadata/finalizers", json!([])),
            ("/metadata/uid", json!("2")),
        ] {
            assert!(
                Changed::labels().matters(&changed(pointer, value)),
                "{pointer}"
            );
        }
        let delta = changed("/status/a", json!("b"));
        let gone = Delta {
            new: None,
            ..delta.clone()
        };
        let new = Delta { old: None, ..delta };
        assert!(Changed::labels().matters(&gone));
        assert!(Changed::labels().matters(&new));
    }
}
