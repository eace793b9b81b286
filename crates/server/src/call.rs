//! One call: room for it, its service, and an answer whatever happens.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, Version, header};
use http_body::Body as HttpBody;
use hyper::body::Incoming;
use tower::Service;

use crate::Body;
use crate::clients::Caller;
use crate::counters::Counter;
use crate::drain::Phase;
use crate::limited::{Answer, BoxError, limited};
use crate::reply::Reply;
use crate::shared::Shared;
use crate::watchdog::Progress;

/// What the client reads of a failure whose cause is the server's own business.
const SEE_LOG: &str = "the call failed: see the server's log";

/// Answers one call.
pub(crate) async fn answer<S, B>(
    server: Arc<Shared>,
    progress: Arc<Progress>,
    caller: Option<Arc<Caller>>,
    service: S,
    request: Request<Incoming>,
) -> Result<Response<Reply<B>>, Infallible>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    B: HttpBody<Data = Bytes>,
{
    let open = Open::new(&progress);
    let version = request.version();
    let mut response = match server.health.answer(request.method(), request.uri()) {
        Some((status, text)) if server.answers_probes => {
            Reply::sentence(status, text, Arc::clone(&progress))
        }
        _ => serve(&server, &progress, caller.as_deref(), service, request).await,
    };
    if server.phase() > Phase::Serving && version < Version::HTTP_2 {
        response
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    drop(open);
    Ok(response)
}

async fn serve<S, B>(
    server: &Arc<Shared>,
    progress: &Arc<Progress>,
    caller: Option<&Caller>,
    service: S,
    request: Request<Incoming>,
) -> Response<Reply<B>>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    B: HttpBody<Data = Bytes>,
{
    let say = |status, text: String| Reply::sentence(status, text, Arc::clone(progress));
    server.counters.count(Counter::calls);
    if let (Some(clients), Some(caller)) = (&server.clients, caller)
        && let Err(error) = clients.admit(caller, request.uri().path(), &server.counters)
    {
        progress.leave_body();
        // The API server passes the message of a 403 on to the client that made the change. It would replace that of a 401.
        return say(StatusCode::FORBIDDEN, error.to_string());
    }
    let is_only = progress.has_one_call();
    let call = limited(&server.budget, service, request, is_only);
    let rejected = |status, sentence| {
        progress.leave_body();
        say(status, sentence)
    };
    let response = match outcome(server, call).await {
        Outcome::Ended(Ok(Answer::OfService(response))) => {
            Reply::of_service(response, Arc::clone(progress))
        }
        Outcome::Ended(Ok(Answer::Rejected(status, sentence))) => rejected(status, sentence),
        Outcome::Ended(Err(error)) => {
            let cause = error.source().map(ToString::to_string);
            tracing::error!(%error, cause, "the service has failed");
            rejected(StatusCode::INTERNAL_SERVER_ERROR, SEE_LOG.to_owned())
        }
        Outcome::Panicked => {
            server.counters.count(Counter::panics);
            tracing::error!("the service has panicked");
            say(StatusCode::INTERNAL_SERVER_ERROR, SEE_LOG.to_owned())
        }
        Outcome::Cut => {
            server.counters.count(Counter::calls_cut);
            say(
                StatusCode::SERVICE_UNAVAILABLE,
                "the server stops before the call is done".to_owned(),
            )
        }
    };
    if response.status() == StatusCode::PAYLOAD_TOO_LARGE {
        server.counters.count(Counter::bodies_too_large);
        progress.leave_body();
    }
    response
}

enum Outcome<R> {
    Ended(R),
    Panicked,
    Cut,
}

/// Waits for the service, but neither beyond the end of the grace nor beyond a panic.
async fn outcome<F: Future>(server: &Shared, call: F) -> Outcome<F::Output> {
    let mut call = pin!(Some(call));
    // It has to be made before the phase is read, so that an end between the two is not missed.
    let mut end = pin!(server.end.notified());
    if server.phase() == Phase::Cutting {
        return Outcome::Cut;
    }
    let outcome = std::future::poll_fn(|cx| match poll_unwinding(call.as_mut(), cx) {
        Ok(Poll::Ready(answer)) => Poll::Ready(Outcome::Ended(answer)),
        Ok(Poll::Pending) => end.as_mut().poll(cx).map(|()| Outcome::Cut),
        Err(Panicked) => Poll::Ready(Outcome::Panicked),
    })
    .await;
    // What the call owns may panic when it is dropped, too.
    match catch_unwind(AssertUnwindSafe(|| call.set(None))) {
        Ok(()) => outcome,
        Err(_) => Outcome::Panicked,
    }
}

struct Panicked;

fn poll_unwinding<F: Future>(
    call: Pin<&mut Option<F>>,
    cx: &mut Context<'_>,
) -> Result<Poll<F::Output>, Panicked> {
    let Some(call) = call.as_pin_mut() else {
        return Err(Panicked);
    };
    catch_unwind(AssertUnwindSafe(|| call.poll(cx))).map_err(|_| Panicked)
}

/// Notes on the connection that a call is open.
struct Open<'a> {
    progress: &'a Progress,
}

impl<'a> Open<'a> {
    fn new(progress: &'a Progress) -> Self {
        progress.call_begins();
        Self { progress }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.progress.call_ends();
    }
}
