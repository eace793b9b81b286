//! Counts how reviews ended.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of reviews of one hook by outcome, since the program started. [`Webhooks::outcomes`](crate::Webhooks::outcomes)
/// returns them.
///
/// ```
/// # use k8s_openapi::api::core::v1::Pod;
/// use kubewright_webhook::{Change, Review, Validated, Webhooks, deny, validating};
/// use serde_json::json;
#[doc = include_str!("call.md")]
///
/// async fn frozen(_: Change<Pod>, _: Review) -> Validated {
///     deny("the namespace is frozen")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let webhooks = Webhooks::new("policy.example.com").with(validating("frozen", frozen));
/// create(&webhooks, "/frozen", json!({"apiVersion": "v1", "kind": "Pod"})).await;
/// create(&webhooks, "/frozen", json!({"apiVersion": "v1", "kind": "Service"})).await;
/// let (_, outcomes) = webhooks.outcomes()[0];
/// assert_eq!((outcomes.denied, outcomes.undecodable), (1, 1));
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcomes {
    /// Allowed with the object as it was.
    pub allowed: u64,
    /// Allowed with a patch.
    pub changed: u64,
    /// Denied.
    pub denied: u64,
    /// Failed: the handler said so.
    pub failed: u64,
    /// Failed: the object could not be read as the handler's type.
    pub undecodable: u64,
    /// Failed: the handler panicked.
    pub panicked: u64,
    /// Failed: the handler was stopped at the deadline.
    pub stopped: u64,
}

/// The one way in which a review ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Allowed,
    Changed,
    Denied,
    Failed,
    Undecodable,
    Panicked,
    Stopped,
}

#[derive(Debug, Default)]
pub(crate) struct Counters([AtomicU64; 7]);

impl Counters {
    pub(crate) fn count(&self, outcome: Outcome) {
        self.0[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Outcomes {
        let of = |outcome: Outcome| self.0[outcome as usize].load(Ordering::Relaxed);
        Outcomes {
            allowed: of(Outcome::Allowed),
            changed: of(Outcome::Changed),
            denied: of(Outcome::Denied),
            failed: of(Outcome::Failed),
            undecodable: of(Outcome::Undecodable),
            panicked: of(Outcome::Panicked),
            stopped: of(Outcome::Stopped),
        }
    }
}
