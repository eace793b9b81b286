//! A call within its limits: a place among those in flight, and a body that is cut when it breaks them.

use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body as HttpBody;
use tower::{Service, ServiceExt as _};

use crate::budget::Budget;
use crate::counters::Counter;
use crate::place::Place;
use crate::{Body, BodyError};

/// The error of a service, as the server sees it.
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// The answer to a call.
pub(crate) enum Answer<R> {
    OfService(R),
    /// The limits reject the call, with a status and a sentence for the client.
    Rejected(StatusCode, String),
}

/// Calls the service within the limits. The only call of its connection has a place where one of many has none any more.
///
/// # Errors
///
/// The service has failed, and not because its request's body was cut.
///
/// # Cancel safety
///
/// Dropping the future drops the service's, and leaves the place.
pub(crate) async fn limited<S, R, B>(
    budget: &Arc<Budget>,
    service: S,
    request: Request<R>,
    is_only: bool,
) -> Result<Answer<Response<B>>, BoxError>
where
    S: Service<Request<Body<R>>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    R: HttpBody<Data = Bytes> + Unpin,
    R::Error: Into<BoxError>,
{
    let Some(place) = Place::of(&request, is_only, budget) else {
        return Ok(refused(budget));
    };
    let place = Leaving(place);
    let _in_flight = budget.counters.hold(Counter::calls_in_flight);
    let request =
        request.map(|incoming| Body::new(incoming, Arc::clone(&place.0), Arc::clone(budget)));
    let mut call = pin!(service.oneshot(request));
    let outcome = std::future::poll_fn(|cx| match call.as_mut().poll(cx) {
        Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
        // A service that works without its body takes its place like any other.
        Poll::Pending if !place.0.awaits_client() && !place.0.may_work() => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    });
    match outcome.await {
        Some(Ok(response)) => Ok(match place.0.why_cut() {
            Some((status, sentence)) if is_error(response.status()) => {
                Answer::Rejected(*status, sentence.clone())
            }
            _ => Answer::OfService(response),
        }),
        Some(Err(error)) => {
            let error = error.into();
            match BodyError::among(error.as_ref()) {
                Some(error) => Ok(Answer::Rejected(error.status(), error.to_string())),
                None => Err(error),
            }
        }
        None => Ok(refused(budget)),
    }
}

fn refused<R>(budget: &Budget) -> Answer<R> {
    budget.counters.count(Counter::calls_refused);
    let sentence = BodyError::TooManyCalls.to_string();
    Answer::Rejected(StatusCode::SERVICE_UNAVAILABLE, sentence)
}

/// Leaves the place of a call when the call ends, however it ends.
struct Leaving(Arc<Place>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.leave();
    }
}

fn is_error(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}
