//! Observers of webhook calls.

use std::time::Duration;

use serde_json::Value;

use super::attributes::Attributes;

/// Sees every webhook call once it is answered.
///
/// Called on the request's own task: an observer that takes long makes the request slow.
pub trait Observer: Send + Sync + 'static {
    /// Reports one finished call.
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
    /// Whether the call is a reinvocation: a later webhook has changed the object.
    pub again: bool,
    /// The request, with the object as the webhook's patch has left it.
    pub request: &'a Attributes,
    /// The object as it was sent to the webhook, if the webhook changed it.
    pub before: Option<&'a Value>,
    /// The outcome.
    pub verdict: Verdict<'a>,
    /// The time from building the review to evaluating the response.
    pub duration: Duration,
    /// The JSON patch that the webhook sent.
    pub patch: Option<&'a [u8]>,
    /// The warnings that the webhook sent, before any limit.
    pub warnings: &'a [String],
}

/// The outcome of a webhook call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict<'a> {
    /// The webhook let the request pass.
    Allowed,
    /// The webhook denied the request, with the message that the client gets.
    Denied(&'a str),
    /// The call failed, and with it the request.
    Failed(&'a str),
    /// The call failed, and `failurePolicy: Ignore` let the request pass.
    Ignored(&'a str),
}
