//! What is measured of webhook calls, as the metrics of the real API server have it.

use std::time::Duration;

use super::call::Failure;
use super::observe::Seen;
use crate::attributes::Operation;

/// Measures every webhook call once it is answered: how it ended, not what was in it, for which an
/// [`Observer`](crate::Observer) has objects kept.
///
/// Called on the request's own task: a meter that takes long makes the request slow.
pub trait Meter: Send + Sync + 'static {
    /// Takes one finished call.
    fn measured(&self, call: &Measured<'_>);
}

/// One webhook call.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "made here, read by meters")]
pub struct Measured<'a> {
    /// The name of the webhook in its configuration.
    pub webhook: &'a str,
    /// Whether the webhook is a mutating one.
    pub mutating: bool,
    /// What the request does.
    pub operation: Operation,
    /// How the call ended.
    pub ended: Ended,
    /// The time from building the review to evaluating the response.
    pub duration: Duration,
}

/// How a webhook call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the metrics have these and no others"
)]
pub enum Ended {
    /// The webhook let the request pass.
    Allowed,
    /// The webhook denied the request, with this code.
    Denied(u16),
    /// The call failed, with this code, and `failurePolicy` lets the request pass or not.
    Failed {
        /// The code that the webhook answered, or the one that the API server uses in its place.
        code: u16,
        /// Whether the request passes.
        ignored: bool,
    },
    /// The API server failed the request before or after the call.
    Refused,
}

impl Seen<'_> {
    /// Measures the call, which failed or did not.
    pub(super) fn measure(&self, meter: Option<&dyn Meter>, failure: Option<&Failure>) {
        let Some(meter) = meter else { return };
        let ended = match failure {
            None => Ended::Allowed,
            Some(Failure::Denied { status, .. }) => Ended::Denied(status.code()),
            Some(Failure::Refused(_)) => Ended::Refused,
            Some(Failure::Call { code, .. }) => Ended::Failed {
                code: *code,
                ignored: self.hook.ignore_failure,
            },
        };
        meter.measured(&Measured {
            webhook: &self.hook.name,
            mutating: self.mutating,
            operation: self.request.operation,
            ended,
            duration: self.started.elapsed(),
        });
    }
}
