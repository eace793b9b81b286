//! The observer of answered reviews, for metrics and logs.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kubewright_review::Operation;

use crate::declaration::Mode;

/// One review that was answered, for metrics and logs. [`Webhooks::observe`](crate::Webhooks::observe) passes it to a function.
///
/// ```
/// use std::sync::mpsc;
#[doc = include_str!("images.md")]
/// use kubewright_webhook::{Answered, Webhooks, validating};
/// use serde_json::json;
#[doc = include_str!("call.md")]
///
/// /// Formats a line of an access log.
/// fn line(answered: &Answered<'_>) -> String {
///     let Answered { hook, operation, kind, decision, .. } = answered;
///     format!("{hook} {} {kind} {}", operation.as_str(), decision.as_str())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let webhooks = Webhooks::new("policy.example.com").with(validating("images", images));
/// let (log, lines) = mpsc::channel();
/// webhooks.observe(move |answered| log.send(line(answered)).unwrap());
/// create(&webhooks, "/images", json!({"apiVersion": "v1", "kind": "Pod"})).await;
/// assert_eq!(lines.recv().unwrap(), "images CREATE Pod allowed");
/// # }
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Answered<'a> {
    /// The path at which the hook was called.
    pub path: &'a str,
    /// The AdmissionReview of the request. It contains the objects, so do not log it.
    pub review: &'a str,
    /// The AdmissionReview of the response; `None` if the hook has failed. Of a hook in shadow mode it is the answer that was
    /// withheld.
    pub answer: Option<&'a [u8]>,
    /// The hook's short name.
    pub hook: &'a str,
    /// The operation on the object.
    pub operation: Operation,
    /// The kind of the object, as the caller wrote it.
    pub kind: &'a str,
    /// The uid of the review, by which the log and the trace name it.
    pub uid: &'a str,
    /// The namespace of the object, as the caller wrote it.
    pub namespace: Option<&'a str>,
    /// The name of the object, as the caller wrote it.
    pub name: Option<&'a str>,
    /// Why the hook failed, in the words of the response. The cause is in the log.
    pub failure: Option<&'a str>,
    /// Whether the decision takes effect.
    pub mode: Mode,
    /// Whether the request is a dry run.
    pub is_dry_run: bool,
    /// The decision on the review.
    pub decision: Decision,
    /// The HTTP status code for the client; 200 if the request was allowed. In shadow mode the code that the client would get.
    pub code: u16,
    /// Time from the first byte of the call to the response.
    pub latency: Duration,
    /// Time that was left until the deadline.
    pub left: Duration,
    /// Length of the patch in bytes.
    pub patch: usize,
}

/// How a review ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "there are three outcomes, one of them with and without a patch"
)]
pub enum Decision {
    /// Allowed with the object as it was.
    Allowed,
    /// Allowed with a patch.
    Changed,
    /// Denied.
    Denied,
    /// It could not be judged.
    Failed,
}

impl fmt::Debug for Answered<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Answered")
            .field("hook", &self.hook)
            .field("operation", &self.operation)
            .field("kind", &self.kind)
            .field("decision", &self.decision)
            .field("latency", &self.latency)
            .finish_non_exhaustive()
    }
}

impl Decision {
    /// Returns the label value for it in metrics and traces.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Changed => "changed",
            Self::Denied => "denied",
            Self::Failed => "failed",
        }
    }
}

type Observe = Arc<dyn Fn(&Answered<'_>) + Send + Sync>;

/// The function that observes answered reviews, if one is set.
#[derive(Clone, Default)]
pub(crate) struct Observer(OnceLock<Observe>);

impl Observer {
    pub(crate) fn set(&self, observe: impl Fn(&Answered<'_>) + Send + Sync + 'static) {
        // The first function stays, as `Webhooks::observe` documents.
        drop(self.0.set(Arc::new(observe)));
    }

    pub(crate) fn get(&self) -> Option<&(dyn Fn(&Answered<'_>) + Send + Sync)> {
        self.0.get().map(|observe| &**observe)
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Observer")
            .field("is_set", &self.0.get().is_some())
            .finish()
    }
}
