//! The body of a request, held to its limit and its deadline.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use tokio::sync::{AcquireError, OwnedSemaphorePermit};
use tokio::time::{Instant, Sleep};

use crate::budget::Budget;
use crate::counters::Counter;
use crate::limits::FREE;
use crate::place::Place;

/// How fast a body that was given room has to arrive, in bytes a second: others may be waiting for that room.
const PACE: usize = 4 << 20;

/// The body of a request, held to the limits of a [`Server`](crate::Server) or a [`LimitLayer`](crate::LimitLayer).
///
/// Reading it fails with a [`BodyError`] when it is over the limit or past its deadline. A service that passes such an
/// error on lets the server word the answer: 413, 408 or 503. What the server has cut for being slow or for want of room
/// it words itself even if the service answers with an error of its own, which cannot know the reason. The frame that
/// crosses the limit is still handed out, so that a service with a limit of its own can be the one to say so.
///
/// ```
/// use http::{Request, Response};
/// use http_body_util::{BodyExt as _, Full};
/// use hyper::body::Bytes;
/// use kubewright_certificates::SelfSigned;
/// use kubewright_server::{Body, BodyError, Server};
#[doc = include_str!("client.md")]
///
/// async fn length(request: Request<Body>) -> Result<Response<Full<Bytes>>, BodyError> {
///     let bytes = request.into_body().collect().await?.to_bytes();
///     Ok(Response::new(Full::from(bytes.len().to_string())))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let server = Server::new(tower::service_fn(length), SelfSigned::for_names(["localhost"]))
///     .listen(([127, 0, 0, 1], 0))
///     .bind()
///     .await?;
/// let answer = ask(server, post("/", "hello")).await?;
/// assert_eq!(answer.body(), "5");
/// # Ok(())
/// # }
/// ```
pub struct Body<B = Incoming> {
    incoming: B,
    received: usize,
    deadline: Instant,
    /// There is a timer only for a body that has to be waited for.
    timer: Option<Pin<Box<Sleep>>>,
    has_pace: bool,
    place: Arc<Place>,
    wait: Option<Wait>,
    budget: Arc<Budget>,
}

type Wait = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>;

/// The reason why a body cannot be read to its end.
///
/// ```
/// use http::Request;
/// use http_body_util::BodyExt as _;
/// use hyper::body::Bytes;
/// use kubewright_certificates::SelfSigned;
/// use kubewright_server::{Body, BodyError, Limits, Server};
#[doc = include_str!("client.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let service = tower::service_fn(async |request: Request<Body>| {
///     let error = request.into_body().collect().await.unwrap_err();
///     assert!(matches!(error, BodyError::TooLarge { limit: 4 }));
///     Err::<http::Response<http_body_util::Full<Bytes>>, _>(error) // The server words the answer.
/// });
/// let server = Server::new(service, SelfSigned::for_names(["localhost"]))
///     .listen(([127, 0, 0, 1], 0))
///     .limits(Limits::default().body(4))
///     .bind()
///     .await?;
/// let answer = ask(server, post("/", "hello")).await?;
/// assert_eq!(answer.status(), 413);
/// assert!(answer.body().contains("larger than 4 bytes"));
/// # Ok(())
/// # }
/// ```
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
    /// The body was given room that others may wait for, and did not arrive at a fair pace.
    #[error(
        "the request's body, for which others may have to wait, came at less than {pace} bytes a second"
    )]
    TooSlowForItsRoom {
        /// The pace, in bytes a second.
        pace: usize,
    },
    /// The body is there, and there are too many other calls to work on.
    #[error("too many calls are in flight")]
    TooManyCalls,
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
    /// The status of an answer that says no more than this.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow { .. } | Self::TooSlowForItsRoom { .. } => StatusCode::REQUEST_TIMEOUT,
            Self::NoRoom | Self::TooManyCalls => StatusCode::SERVICE_UNAVAILABLE,
            Self::Broken { .. } => StatusCode::BAD_REQUEST,
        }
    }

    /// Whether it is the server that has cut the body, for a reason that its service cannot know.
    fn is_cut(&self) -> bool {
        !matches!(self, Self::TooLarge { .. } | Self::Broken { .. })
    }

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

impl<B> Body<B>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    pub(crate) fn new(incoming: B, place: Arc<Place>, budget: Arc<Budget>) -> Self {
        let deadline = Instant::now() + budget.limits.body_time;
        Self {
            incoming,
            received: 0,
            deadline,
            timer: None,
            has_pace: false,
            place,
            wait: None,
            budget,
        }
    }

    fn left(&self) -> Option<usize> {
        self.budget.limits.body.checked_sub(self.received)
    }

    /// Whether more bytes have come than the limit allows, or the client has announced that they will.
    fn is_too_large(&self) -> bool {
        let announced = usize::try_from(self.incoming.size_hint().lower()).unwrap_or(usize::MAX);
        self.left().is_none_or(|left| announced > left)
    }

    /// Whether more of the body is read only once it has room. That holds for the part beyond the first 64 KiB, and for all
    /// of a large body while half of the memory for small bodies is taken.
    fn needs_room(&self) -> bool {
        if self.place.has_room() {
            return false;
        }
        let free = u64::try_from(FREE).unwrap_or(u64::MAX);
        let left = self.incoming.size_hint().upper().unwrap_or(u64::MAX);
        self.received >= FREE
            || self.wait.is_some()
            || (left > free && self.place.small_bodies_are_half_full())
    }

    /// Waits for room, if the body needs it.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.needs_room() {
            return Poll::Ready(());
        }
        let (bodies, units) = (&self.budget.bodies, self.place.units());
        let wait = self
            .wait
            .get_or_insert_with(|| Box::pin(Arc::clone(bodies).acquire_many_owned(units)));
        if let Ok(room) = ready!(wait.as_mut().poll(cx)) {
            self.place.give_room(room);
        }
        self.wait = None;
        let left = u32::try_from(self.left().unwrap_or_default() / PACE).unwrap_or(u32::MAX);
        let pace = Duration::from_secs(1).saturating_mul(left.saturating_add(2));
        let fair = Instant::now() + pace;
        self.has_pace = fair < self.deadline;
        self.deadline = self.deadline.min(fair);
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
            self.budget.counters.count(Counter::calls_refused);
            return Poll::Ready(BodyError::NoRoom);
        }
        self.budget.counters.count(Counter::bodies_too_slow);
        Poll::Ready(if self.has_pace {
            BodyError::TooSlowForItsRoom { pace: PACE }
        } else {
            BodyError::TooSlow {
                time: self.budget.limits.body_time,
            }
        })
    }

    fn poll_checked(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.is_too_large() {
            let limit = self.budget.limits.body;
            return Poll::Ready(Some(Err(BodyError::TooLarge { limit })));
        }
        if self.poll_room(cx).is_pending() {
            return self.poll_deadline(cx).map(|error| Some(Err(error)));
        }
        let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) else {
            return self.poll_deadline(cx).map(|error| Some(Err(error)));
        };
        let frame = frame.transpose().map_err(|source| BodyError::Broken {
            source: source.into(),
        })?;
        let length = frame
            .as_ref()
            .and_then(Frame::data_ref)
            .map_or(0, Bytes::len);
        self.received += length;
        let refusal = if !self.place.has_room() && !self.place.take_small(length) {
            Some(BodyError::NoRoom)
        } else if (frame.is_none() || self.incoming.is_end_stream()) && !self.place.may_work() {
            Some(BodyError::TooManyCalls)
        } else {
            None
        };
        if let Some(refusal) = refusal {
            self.budget.counters.count(Counter::calls_refused);
            return Poll::Ready(Some(Err(refusal)));
        }
        Poll::Ready(frame.map(Ok))
    }
}

impl<B> http_body::Body for Body<B>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = self.poll_checked(cx);
        self.place.set_awaits_client(frame.is_pending());
        if let Poll::Ready(Some(Err(error))) = &frame
            && error.is_cut()
        {
            self.place.cut(error.status(), error.to_string());
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.left().is_some() && self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl<B> Drop for Body<B> {
    fn drop(&mut self) {
        self.place.set_awaits_client(false);
    }
}

impl<B: http_body::Body> fmt::Debug for Body<B> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Body")
            .field("size", &self.incoming.size_hint())
            .finish_non_exhaustive()
    }
}
