//! Predicates: which changes of an object cause a reconcile.

mod decoded;
mod expression;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::de::DeserializeOwned;

pub(crate) use self::decoded::Decoded;
use self::expression::{Asked, Expression, Part};
use crate::informer::Delta;

/// Selects the changes of an object that cause a reconcile, as predicates do in controller-runtime. Default: any change.
///
/// A predicate consists of conditions, joined by [`and`](Self::and), [`or`](Self::or) and [`not`](Self::not). A condition has a
/// say in some changes only:
///
/// | condition | has a say in |
/// |---|---|
/// | [`any_change`](Self::any_change), [`generation_changed`](Self::generation_changed), [`labels_changed`](Self::labels_changed), [`annotations_changed`](Self::annotations_changed), [`content_changed`](Self::content_changed), [`updated`](Self::updated) | updates |
/// | [`created`](Self::created) | new objects, and all objects when the controller starts |
/// | [`deleted`](Self::deleted) | deleted objects |
/// | [`object`](Self::object) | all of these |
///
/// * In `and` and `or`, a condition without a say leaves the decision to the other one; `not` does not give it a say. So
///   `generation_changed().and(created(f))` calls `f` for a new object, and compares generations in an update.
/// * A change matches if no condition has a say in it: without `created`, `deleted` or `object`, every new and every deleted
///   object matches, also with `not`.
/// * The changes that a controller needs to clean up match in any case: the start of a deletion, a change of finalizers, an
///   object that the controller finds being deleted when it starts, and an object that was replaced by another of the same name.
///
/// Closures are called only if the conditions without closures do not decide, in no particular order. The object is decoded
/// once for all of them. If a closure panics, or the object cannot be decoded, the log has an error and the change matches.
/// Closures may read caches, and make no requests.
///
/// Order and grouping of conditions do not matter, `x.and(x)` and `x.not().not()` are the same as `x`, and `x.and(y).not()` is the
/// same as `x.not().or(y.not())`.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kubewright_controller::Predicate;
///
/// let scaled = Predicate::updated(|old: &Deployment, new| old.spec.replicas != new.spec.replicas);
/// let predicate = Predicate::generation_changed().and(scaled.not()).or(Predicate::labels_changed());
/// # let _ = predicate;
/// ```
///
/// A predicate about one kind does not fit a controller of another:
///
/// ```compile_fail,E0308
/// # use std::sync::Arc;
/// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
/// # use kubewright_controller::{Action, Context, Controller, Error, Predicate};
/// # async fn reconcile(_: Arc<Deployment>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
/// let pods: Predicate<Pod> = Predicate::generation_changed();
/// Controller::<Deployment>::new("deployments", reconcile).filter(pods);
/// ```
#[must_use]
pub struct Predicate<K>(Expression<K>);

impl<K> Predicate<K> {
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
        Self(Expression::one_of(Part::Anything))
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
    /// assert!(causes_reconcile(predicate.clone(), json!({"spec": {"replicas": 3}})).await);
    /// assert!(!causes_reconcile(predicate, json!({"metadata": {"labels": {"team": "a"}}})).await);
    /// # Ok(())
    /// # }
    /// ```
    pub const fn generation_changed() -> Self {
        Self(Expression::one_of(Part::Generation))
    }

    /// Matches a change of labels.
    ///
    /// ```
    #[doc = include_str!("predicate.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let predicate = Predicate::labels_changed();
    /// assert!(causes_reconcile(predicate.clone(), json!({"metadata": {"labels": {"team": "a"}}})).await);
    /// assert!(!causes_reconcile(predicate, json!({"spec": {"replicas": 3}})).await);
    /// # Ok(())
    /// # }
    /// ```
    pub const fn labels_changed() -> Self {
        Self(Expression::one_of(Part::Labels))
    }

    /// Matches a change of annotations.
    ///
    /// ```
    #[doc = include_str!("predicate.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let predicate = Predicate::annotations_changed();
    /// assert!(causes_reconcile(predicate.clone(), json!({"metadata": {"annotations": {"note": "x"}}})).await);
    /// assert!(!causes_reconcile(predicate, json!({"metadata": {"labels": {"team": "a"}}})).await);
    /// # Ok(())
    /// # }
    /// ```
    pub const fn annotations_changed() -> Self {
        Self(Expression::one_of(Part::Annotations))
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
    /// assert!(causes_reconcile(predicate.clone(), json!({"spec": {"replicas": 3}})).await);
    /// assert!(!causes_reconcile(predicate, json!({"metadata": {"labels": {"team": "a"}}})).await);
    /// # Ok(())
    /// # }
    /// ```
    pub const fn content_changed() -> Self {
        Self(Expression::one_of(Part::Content))
    }

    /// Matches an update for which a closure over the old and the new object returns true.
    ///
    /// ```
    #[doc = include_str!("predicate.md")]
    /// use k8s_openapi::api::apps::v1::Deployment;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let predicate = Predicate::updated(|old: &Deployment, new| old.spec.replicas != new.spec.replicas);
    /// assert!(causes_reconcile(predicate.clone(), json!({"spec": {"replicas": 3}})).await);
    /// assert!(!causes_reconcile(predicate, json!({"spec": {"paused": true}})).await);
    /// # Ok(())
    /// # }
    /// ```
    pub fn updated(compare: impl Fn(&K, &K) -> bool + Send + Sync + 'static) -> Self
    where
        K: DeserializeOwned,
    {
        Self(Expression::call(Asked::Updated(Box::new(compare))))
    }

    /// Matches a new object for which a closure returns true. When a controller starts, all objects are new to it.
    ///
    /// ```
    #[doc = include_str!("predicate/objects.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let predicate = Predicate::created(|map| is_of("red", map));
    /// assert_eq!(first_reconciled(predicate).await, "red");
    /// # Ok(())
    /// # }
    /// ```
    pub fn created(ask: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self
    where
        K: DeserializeOwned,
    {
        Self(Expression::call(Asked::Created(Box::new(ask))))
    }

    /// Matches a deleted object for which a closure returns true, called with its last known state.
    ///
    /// A controller is not called for a deleted object of its own; this is for [owned](crate::owned) and
    /// [related](crate::related) objects.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_controller::{Predicate, owned};
    ///
    /// let failed = Predicate::deleted(|pod: &Pod| {
    ///     pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Failed"))
    /// });
    /// let pods = owned::<Pod>().filter(failed.and(Predicate::generation_changed()));
    /// # let _ = pods;
    /// ```
    pub fn deleted(ask: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self
    where
        K: DeserializeOwned,
    {
        Self(Expression::call(Asked::Deleted(Box::new(ask))))
    }

    /// Matches any change of an object for which a closure returns true. An update matches if the closure returns true for the
    /// old or the new object: an object that ceases to be selected is reconciled once more.
    ///
    /// ```
    #[doc = include_str!("predicate/objects.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let predicate = Predicate::object(|map| is_of("both", map));
    /// assert_eq!(first_reconciled(predicate).await, "both");
    /// # Ok(())
    /// # }
    /// ```
    pub fn object(ask: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self
    where
        K: DeserializeOwned,
    {
        Self(Expression::call(Asked::Object(Box::new(ask))))
    }

    /// Matches a change that this predicate and the other one match.
    ///
    /// ```
    #[doc = include_str!("predicate.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let predicate = Predicate::content_changed().and(Predicate::labels_changed());
    /// assert!(!causes_reconcile(predicate.clone(), json!({"spec": {"replicas": 3}})).await);
    /// let both = json!({"spec": {"replicas": 3}, "metadata": {"labels": {"team": "a"}}});
    /// assert!(causes_reconcile(predicate, both).await);
    /// # Ok(())
    /// # }
    /// ```
    pub fn and(self, other: Self) -> Self {
        Self(self.0.and(other.0))
    }

    /// Matches a change that this predicate or the other one matches.
    ///
    /// ```
    #[doc = include_str!("predicate.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let predicate = Predicate::content_changed().or(Predicate::labels_changed());
    /// assert!(causes_reconcile(predicate.clone(), json!({"spec": {"replicas": 3}})).await);
    /// assert!(causes_reconcile(predicate.clone(), json!({"metadata": {"labels": {"team": "a"}}})).await);
    /// assert!(!causes_reconcile(predicate, json!({"metadata": {"annotations": {"note": "x"}}})).await);
    /// # Ok(())
    /// # }
    /// ```
    pub fn or(self, other: Self) -> Self {
        Self(self.0.or(other.0))
    }

    /// Matches an update that this predicate does not match; likewise other changes in which the predicate
    /// [has a say](Predicate).
    ///
    /// ```
    #[doc = include_str!("predicate.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let predicate = Predicate::labels_changed().not();
    /// assert!(causes_reconcile(predicate.clone(), json!({"spec": {"replicas": 3}})).await);
    /// assert!(!causes_reconcile(predicate, json!({"metadata": {"labels": {"team": "a"}}})).await);
    /// # Ok(())
    /// # }
    /// ```
    #[expect(
        clippy::should_implement_trait,
        reason = "it stands beside `and` and `or`, which no operator trait has"
    )]
    pub fn not(self) -> Self {
        Self(self.0.not())
    }

    /// Decides without a call of the user's closures, if it can.
    pub(crate) fn decide(&self, delta: &Delta) -> Option<bool> {
        if is_needed_to_clean_up(delta) {
            return Some(true);
        }
        let said = self.0.say(delta, &mut |call| {
            if call.has_say(delta) {
                Err(AClosure)
            } else {
                Ok(None)
            }
        });
        said.ok().map(|says| says.unwrap_or(true))
    }
}

impl<K> Predicate<K> {
    /// Decides, with the user's closures if they are needed.
    ///
    /// # Errors
    ///
    /// When an object cannot be decoded for a closure.
    pub(crate) fn matches(&self, change: &Decoded<'_, K>) -> Result<bool, serde_json::Error> {
        if is_needed_to_clean_up(change.delta()) {
            return Ok(true);
        }
        let says = self.0.say(change.delta(), &mut |call| call.say(change))?;
        Ok(says.unwrap_or(true))
    }
}

/// A closure is needed to decide.
struct AClosure;

fn is_needed_to_clean_up(delta: &Delta) -> bool {
    match (&delta.old, &delta.new) {
        (Some(old), Some(new)) => {
            let (old, new) = (old.metadata(), new.metadata());
            old.uid() != new.uid()
                || old.is_being_deleted() != new.is_being_deleted()
                || old.finalizers() != new.finalizers()
        }
        (None, Some(new)) => new.metadata().is_being_deleted(),
        (_, None) => false,
    }
}

/// A predicate whose kind is forgotten.
pub(crate) trait Filter: Send + Sync {
    /// As [`Predicate::decide`].
    fn decide(&self, delta: &Delta) -> Option<bool>;

    /// As [`Predicate::matches`].
    fn matches(&self, delta: &Delta) -> Result<bool, serde_json::Error>;
}

impl<K> Filter for Predicate<K> {
    fn decide(&self, delta: &Delta) -> Option<bool> {
        self.decide(delta)
    }

    fn matches(&self, delta: &Delta) -> Result<bool, serde_json::Error> {
        self.matches(&Decoded::new(delta))
    }
}

impl<K> Clone for Predicate<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> fmt::Debug for Predicate<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Predicate({:?})", self.0)
    }
}
