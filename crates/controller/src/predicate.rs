//! Predicates: which changes of an object cause a reconcile.

use crate::informer::Delta;

/// Selects the changes of an object that cause a reconcile, as predicates do in controller-runtime. Default: any change.
///
/// A created and a deleted object always match, and so do the start of a deletion and a change of finalizers: a controller
/// that cleans up would never be called otherwise.
///
/// ```
/// use kubewright_controller::Predicate;
///
/// let predicate = Predicate::generation_changed().or(Predicate::labels_changed());
/// # let _ = predicate;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Predicate(u8);

impl Predicate {
    /// Matches any change.
    ///
    /// ```
    #[doc = include_str!("predicate.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// assert!(causes_reconcile(Predicate::any_change(), json!({"metadata": {"annotations": {"note": "x"}}})).await);
    /// # Ok(())
    /// # }
    /// ```
    pub const fn any_change() -> Self {
        Self(ANYTHING)
    }

    /// Matches a new `metadata.generation`: a change of the desired state, for kinds that count its changes. Writes to the status
    /// never match.
    ///
    /// ```
    #[doc = include_str!("predicate.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let predicate = Predicate::generation_changed();
    /// assert!(causes_reconcile(predicate, json!({"spec": {"replicas": 3}})).await);
    /// assert!(!causes_reconcile(predicate, json!({"metadata": {"labels": {"team": "a"}}})).await);
    /// # Ok(())
    /// # }
    /// ```
    pub const fn generation_changed() -> Self {
        Self(GENERATION)
    }

    /// Matches a change of labels.
    ///
    /// ```
    #[doc = include_str!("predicate.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let predicate = Predicate::labels_changed();
    /// assert!(causes_reconcile(predicate, json!({"metadata": {"labels": {"team": "a"}}})).await);
    /// assert!(!causes_reconcile(predicate, json!({"spec": {"replicas": 3}})).await);
    /// # Ok(())
    /// # }
    /// ```
    pub const fn labels_changed() -> Self {
        Self(LABELS)
    }

    /// Matches a change of annotations.
    ///
    /// ```
    #[doc = include_str!("predicate.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let predicate = Predicate::annotations_changed();
    /// assert!(causes_reconcile(predicate, json!({"metadata": {"annotations": {"note": "x"}}})).await);
    /// assert!(!causes_reconcile(predicate, json!({"metadata": {"labels": {"team": "a"}}})).await);
    /// # Ok(())
    /// # }
    /// ```
    pub const fn annotations_changed() -> Self {
        Self(ANNOTATIONS)
    }

    /// Matches a change of any field outside of metadata and status. A controller's own writes to the status never match, also
    /// for kinds without a generation.
    ///
    /// ```
    #[doc = include_str!("predicate.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let predicate = Predicate::content_changed();
    /// assert!(causes_reconcile(predicate, json!({"spec": {"replicas": 3}})).await);
    /// assert!(!causes_reconcile(predicate, json!({"metadata": {"labels": {"team": "a"}}})).await);
    /// # Ok(())
    /// # }
    /// ```
    pub const fn content_changed() -> Self {
        Self(CONTENT)
    }

    /// Matches a change that this predicate or the other one matches.
    ///
    /// ```
    #[doc = include_str!("predicate.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let predicate = Predicate::content_changed().or(Predicate::labels_changed());
    /// assert!(causes_reconcile(predicate, json!({"spec": {"replicas": 3}})).await);
    /// assert!(causes_reconcile(predicate, json!({"metadata": {"labels": {"team": "a"}}})).await);
    /// assert!(!causes_reconcile(predicate, json!({"metadata": {"annotations": {"note": "x"}}})).await);
    /// # Ok(())
    /// # }
    /// ```
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn matches(self, delta: &Delta) -> bool {
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
    fn each_predicate_matches_its_part_alone() {
        let parts = [
            (
                Predicate::generation_changed(),
                "/metadata/generation",
                json!(2),
            ),
            (
                Predicate::labels_changed(),
                "/metadata/labels/a",
                json!("b"),
            ),
            (
                Predicate::annotations_changed(),
                "/metadata/annotations/a",
                json!("b"),
            ),
            (Predicate::content_changed(), "/spec/a", json!("b")),
        ];
        for (asked, pointer, value) in &parts {
            let delta = changed(pointer, value.clone());
            assert!(asked.matches(&delta), "{pointer}");
            assert!(Predicate::any_change().matches(&delta), "{pointer}");
            assert!(Predicate(31).matches(&delta), "{pointer}");
            for (other, ..) in parts.iter().filter(|(other, ..)| other != asked) {
                assert!(!other.matches(&delta), "{other:?} matches {pointer}");
                assert!(other.or(*asked).matches(&delta), "{pointer}");
            }
        }
    }

    #[test]
    fn only_any_change_matches_a_status() {
        let delta = changed("/status/a", json!("b"));
        assert!(Predicate::any_change().matches(&delta));
        for asked in [2, 4, 8, 16, 30] {
            assert!(!Predicate(asked).matches(&delta));
        }
    }

    #[test]
    fn a_deletion_always_matches() {
        for (pointer, value) in [
            ("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")),
            ("/metadata/finalizers", json!([])),
            ("/metadata/uid", json!("2")),
        ] {
            assert!(
                Predicate::labels_changed().matches(&changed(pointer, value)),
                "{pointer}"
            );
        }
        let delta = changed("/status/a", json!("b"));
        let gone = Delta {
            new: None,
            ..delta.clone()
        };
        let new = Delta { old: None, ..delta };
        assert!(Predicate::labels_changed().matches(&gone));
        assert!(Predicate::labels_changed().matches(&new));
    }
}
