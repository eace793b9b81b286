//! The span of a review. It records what the review is about and how it ended, and never the content of objects.

use http::StatusCode;
use tracing::{Level, Span, field};

use crate::hook::Hook;
use crate::observer::Decision;
use crate::review::Review;

/// Creates the span when a call begins, in the trace of the caller.
pub(crate) fn of_call() -> Span {
    tracing::span!(
        Level::DEBUG,
        "review",
        otel.kind = "server",
        otel.status_code = field::Empty,
        webhook = field::Empty,
        uid = field::Empty,
        operation = field::Empty,
        kind = field::Empty,
        namespace = field::Empty,
        name = field::Empty,
        dry_run = field::Empty,
        decision = field::Empty,
        mode = field::Empty,
        code = field::Empty,
    )
}

/// Records the request.
pub(crate) fn asked(span: &Span, hook: &Hook, review: &Review) {
    if span.is_disabled() {
        return;
    }
    span.record("webhook", &*hook.name);
    span.record("mode", hook.mode.as_str());
    span.record("uid", short(review.uid()));
    span.record("operation", review.operation().as_str());
    span.record("kind", short(review.kind().kind));
    if let Some(namespace) = review.namespace() {
        span.record("namespace", short(namespace));
    }
    if let Some(name) = review.name() {
        span.record("name", short(name));
    }
    span.record("dry_run", review.dry_run());
}

/// Records the response.
pub(crate) fn answered(span: &Span, decision: Decision, code: u16) {
    span.record("decision", decision.as_str());
    span.record("code", code);
}

/// Records that the review failed.
pub(crate) fn failed(span: &Span, code: StatusCode) {
    answered(span, Decision::Failed, code.as_u16());
    span.record("otel.status_code", "ERROR");
}

/// Truncates a string of the request, which may have any length.
pub(crate) fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

/// The longest name that an object can have.
const LONGEST: usize = 253;
