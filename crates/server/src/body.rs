//! The body of a request, held to its limit and its deadline.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::sync::{AcquireError, OwnedSemaphorePermit};
use tokio::time::{Instant, Sleep};

use crate::counters::Counter;
use crate::run::Shared;

/// What every body may have without asking for room: most reviews are smaller, and never wait for a large one.
const FREE: usize = 64 * 1024;

/// How fast a body that was given room has to arrive, in bytes a second: others may be waiting for that room.
const PACE: usize = 4 << 20;

/// The body of a request, as a server hands it to its service.
///
/// Reading it fails with a [`BodyError`] when it is over the limit or past its deadline. A service that passes such an
/// error on lets the server word the answer: 413, 408 or 503. The frame that crosses the limit is still handed out, so
/// that a service with a limit of its own can be the one to say so.
pub struct Body {
    incoming: Incoming,
    received: usize,
    deadline: Instant,
    /// There is a timer only for a body that has to be waited for.
    timer: Option<Pin<Box<Sleep>>>,
    room: Option<Arc<Room>>,
    wait: Option<Wait>,
    server: Arc<Shared>,
}

type Wait = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>;

/// The room of a large body among those of the calls in flight. It is kept until the call is done, not only until the
/// body is read: the service still has the bytes.
#[derive(Debug)]
pub(crate) struct Room {
    units: u32,
    permit: OnceLock<OwnedSemaphorePermit>,
}

impl Room {
    /// The room that the body of a request may come to need.
    pub(crate) fn of(request: &Request<Incoming>, server: &Shared) -> Option<Arc<Self>> {
        let limit = server.limits.body;
        let length = request.body().size_hint().upper();
        let bytes = length.map_or(limit, |length| usize::try_from(length).unwrap_or(limit));
        (bytes > FREE).then(|| {
            let units = server.body_units(bytes.min(limit));
            Arc::new(Self {
                units,
                permit: OnceLock::new(),
            })
        })
    }
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
    /// The bodies of the calls in flight left no room for this one in time.
    #[error("the bodies of the calls in flight leave no room for this one")]
    NoRoom,
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
    pub(crate) fn new(
        incoming: Incoming,
        deadline: Instant,
        room: Option<Arc<Room>>,
        server: Arc<Shared>,
    ) -> Self {
        Self {
            incoming,
            received: 0,
            deadline,
            timer: None,
            room,
            wait: None,
            server,
        }
    }

    fn left(&self) -> Option<usize> {
        self.server.limits.body.checked_sub(self.received)
    }

    /// Whether more bytes have come than the limit allows, or the client has announced that they will.
    fn is_too_large(&self) -> bool {
        let announced = usize::try_from(self.incoming.size_hint().lower()).unwrap_or(usize::MAX);
        self.left().is_none_or(|left| announced > left)
    }

    /// Waits for room, once the body is larger than what is free.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(room) = self.room.as_ref().filter(|_| self.received >= FREE) else {
            return Poll::Ready(());
        };
        if room.permit.get().is_some() {
            return Poll::Ready(());
        }
        let bodies = &self.server.bodies;
        let wait = self
            .wait
            .get_or_insert_with(|| Box::pin(Arc::clone(bodies).acquire_many_owned(room.units)));
        if let Ok(permit) = ready!(wait.as_mut().poll(cx)) {
            // Nobody else sets it: a call has one body.
            let _ = room.permit.set(permit);
        }
        self.wait = None;
        let left = u32::try_from(self.left().unwrap_or_default() / PACE).unwrap_or(u32::MAX);
        let pace = Duration::from_secs(1).saturating_mul(left.saturating_add(2));
        self.deadline = self.deadline.min(Instant::now() + pace);
        self.timer = None;
        Poll::Ready(())
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<BodyError> {
        let deadline = self.deadline;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        ready!(timer.as_mut().poll(cx));
        if self.wait.is_some() {
            self.server.counters.count(Counter::calls_refused);
            return Poll::Ready(BodyError::NoRoom);
        }
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
        if self.is_too_large() {
            let limit = self.server.limits.body;
            return Poll::Ready(Some(Err(BodyError::TooLarge { limit })));
        }
        if self.poll_room(cx).is_pending() {
            return self.poll_deadline(cx).map(|error| Some(Err(error)));
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
        self.received += frame.data_ref().map_or(0, Bytes::len);
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.left().is_some() && self.incoming.is_end_stream()
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
