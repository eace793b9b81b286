//! Traces: continues the caller's trace, passes it on in calls to the API server, and exports spans by OTLP.
//!
//! All crates of the toolkit make spans with `tracing`. A span costs next to nothing without a subscriber; the feature `otlp` adds
//! a subscriber that exports them.

use std::task::{Context, Poll};

use http::{HeaderMap, Request};
use tower::Service;
use tracing::Span;

#[cfg(feature = "otlp")]
mod export;

#[cfg(feature = "otlp")]
pub(crate) use export::{Exporter, TraceFlags};

/// Continues the caller's trace: API servers send a W3C `traceparent` if they trace.
#[derive(Clone, Debug)]
pub(crate) struct Continued<S>(pub(crate) S);

impl<S, B> Service<Request<B>> for Continued<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> S::Future {
        // The span of the review is made within the call.
        #[cfg(feature = "otlp")]
        let _parent = export::parent(request.headers()).map(export::attach);
        self.0.call(request)
    }
}

/// Whether a subscriber takes the spans of calls to the API server.
pub(crate) fn are_on() -> bool {
    tracing::span_enabled!(target: "kubewright_manager::client", tracing::Level::DEBUG)
}

/// The trace that a span belongs to, if traces are on.
pub(crate) fn trace_id(span: &Span) -> Option<String> {
    #[cfg(feature = "otlp")]
    return export::trace_id(span);
    #[cfg(not(feature = "otlp"))]
    {
        let _ = span;
        None
    }
}

/// Has a call say which span it is made in.
pub(crate) fn pass_on(span: &Span, headers: &mut HeaderMap) {
    #[cfg(feature = "otlp")]
    export::pass_on(span, headers);
    #[cfg(not(feature = "otlp"))]
    let _ = (span, headers);
}
