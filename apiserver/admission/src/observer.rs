//! A look at every webhook call as it passes.

use std::time::Duration;

use serde_json::Value;

use super::attributes::Attributes;

/// Sees every webhook call once it is answered.
///
/// Called on the request's own task: an observer that takes long makes the request slow.
pub trait Observer: Send + Sync + 'static {
    /// One call is over.
    fn called(&self, call: &Call<'_>);
}

/// One webhook call.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "made here, read by observers")]
pub struct Call<'a> {
    /// The name of the webhook configuration.
    pub configuration: &'a str,
    /// The name of the webhook in it.
    pub webhook: &'a str,
    /// Whether the webhook is a mutating one.
    pub mutating: bool,
    /// The second look after a later webhook changed the object (reinvocation).
    pub again: bool,
    /// The request; its object is the one that the webhook's change led to.
    pub request: &'a Attributes,
    /// The object as it was sent to the webhook, where the webhook changed it.
    pub before: Option<&'a Value>,
    /// What came of it.
    pub verdict: Verdict<'a>,
    /// From building the review to having judged the answer.
    pub duration: Duration,
    /// The JSON patch that the webhook sent.
    pub patch: Option<&'a [u8]>,
    /// The warnings that the webhook sent, before any limit.
    pub warnings: &'a [String],
}

/// What came of a webhook call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict<'a> {
    /// The webhook let the request pass.
    Allowed,
    /// The webhook refused the request, with the text that the client reads.
    Denied(&'a str),
    /// The call failed, and with it the request.
    Failed(&'a str),
    /// The call failed, and `failurePolicy: Ignore` let the request pass.
    Ignored(&'a str),
}
