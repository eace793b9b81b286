//! The body of a request, held to its limit and its deadline.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use crate::counters::Counter;
use crate::run::Shared;

/// The body of a request, as a server hands it to its service.
///
/// Reading it fails with a [`BodyError`] when it is over the limit or past its deadline. A service that passes such an
/// error on lets the server word the answer: 413 or 408. The frame that crosses the limit is still handed out, so that a
/// service with a limit of its own can be the one to say so.
pub struct Body {
    incoming: Incoming,
    left: usize,
    is_over: bool,
    limit: usize,
    deadline: Instant,
    /// There is a timer only for a body that has to be waited for.
    timer: Option<Pin<Box<Sleep>>>,
    server: Arc<Shared>,
}

/// A body that cannot be read to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// The body has more bytes than the limit, or says that it will have.
    #[error("the request's body is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The body did not arrive in time.
    #[error("the request's body did not arrive within {} s", .time.as_secs_f64())]
    TooSlow {
        /// The time it had.
        time: Duration,
    },
    /// The connection broke, or the client gave up or sent what is not a body.
    #[error("the request's body broke off")]
    Broken {
        /// What happened.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl BodyError {
    /// Looks for a body's error among the causes of a service's error.
    pub(crate) fn among<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            cause = error.source();
        }
        None
    }
}

impl Body {
    pub(crate) fn new(incoming: Incoming, deadline: Instant, server: Arc<Shared>) -> Self {
        let limit = server.limits.body;
        Self {
            incoming,
            left: limit,
            is_over: false,
            limit,
            deadline,
            timer: None,
            server,
        }
    }

    /// Whether the length that the client has announced is over the limit.
    fn announces_too_much(&self) -> bool {
        usize::try_from(self.incoming.size_hint().lower()).map_or(true, |length| length > self.left)
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<BodyError> {
        let deadline = self.deadline;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        ready!(timer.as_mut().poll(cx));
        self.server.counters.count(Counter::bodies_too_slow);
        Poll::Ready(BodyError::TooSlow {
            time: self.server.limits.body_time,
        })
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.is_over || self.announces_too_much() {
            return Poll::Ready(Some(Err(BodyError::TooLarge { limit: self.limit })));
        }
        let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) else {
            return self.poll_deadline(cx).map(|error| Some(Err(error)));
        };
        let Some(frame) = frame else {
            return Poll::Ready(None);
        };
        let frame = frame.map_err(|source| BodyError::Broken {
            source: source.into(),
        })?;
        let length = frame.data_ref().map_or(0, Bytes::len);
        self.is_over = length > self.left;
        self.left = self.left.saturating_sub(length);
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        !self.is_over && self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Body")
            .field("size", &self.size_hint())
            .finish_non_exhaustive()
    }
}
