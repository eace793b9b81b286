//! The way between a program under test and its API server, on which things go wrong.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use kubewright_apiserver::RequestInfo;
use tokio::sync::Mutex;
use tokio::time::sleep;
use tower::{BoxError, Layer, Service};

use super::Faults;
use super::body::Mortal;
use super::refusal::Refusal;
use super::requests::Asked;
use super::rules::{Fate, Instead};

/// Puts a [`Way`] before a service.
#[derive(Clone, Debug)]
pub(crate) struct WayLayer(pub(crate) Faults);

/// A service that takes down what is sent, and does to it what a test has said.
#[derive(Clone, Debug)]
pub(crate) struct Way<S> {
    // A request that is held back needs the service later, and not every service can be cloned.
    inner: Arc<Mutex<S>>,
    faults: Faults,
}

impl<S> Layer<S> for WayLayer {
    type Service = Way<S>;

    fn layer(&self, inner: S) -> Way<S> {
        Way {
            inner: Arc::new(Mutex::new(inner)),
            faults: self.0.clone(),
        }
    }
}

impl<S, B, A> Service<Request<B>> for Way<S>
where
    S: Service<Request<B>, Response = Response<A>> + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError>,
    B: Send + 'static,
    A: Body<Data = Bytes> + Send + 'static,
    A::Error: Into<BoxError>,
{
    type Response = Response<Mortal>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let asked = Asked::by(&request);
        let number = self.faults.takes_down(&asked);
        let fate = self.faults.fate(&asked);
        let (inner, faults) = (Arc::clone(&self.inner), self.faults.clone());
        Box::pin(async move {
            let answer = undergo(&inner, request, &asked.info, &fate).await?;
            faults.is_answered(number, answer.status().as_u16());
            let (head, mut body) = answer.into_parts();
            if asked.info.verb == "watch" && head.status == StatusCode::OK {
                body = body.ends_on(faults.opens(&asked));
            }
            if let Some(bytes) = fate.pace {
                body = body.paced(bytes);
            }
            if let Some((bytes, end)) = fate.cut {
                body = body.ends_after(bytes, end.last(&asked.info));
            }
            Ok(Response::from_parts(head, body))
        })
    }
}

async fn undergo<S, B, A>(
    inner: &Mutex<S>,
    request: Request<B>,
    info: &RequestInfo,
    fate: &Fate,
) -> Result<Response<Mortal>, BoxError>
where
    S: Service<Request<B>, Response = Response<A>>,
    S::Error: Into<BoxError>,
    A: Body<Data = Bytes> + Send + 'static,
    A::Error: Into<BoxError>,
{
    pause(fate.before).await;
    match &fate.instead {
        Some(Instead::Unreachable) => {
            return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
        }
        Some(Instead::Refusal(refusal)) => return refused(refusal, info),
        Some(Instead::RefusalWithin(refusal)) => {
            let line = Full::new(Bytes::from(refusal.line(info)));
            return Ok(json(StatusCode::OK, line));
        }
        Some(Instead::Reset) | None => {}
    }
    let served = {
        let mut inner = inner.lock().await;
        poll_fn(|context| inner.poll_ready(context))
            .await
            .map_err(Into::into)?;
        inner.call(request)
    };
    let answer = served.await.map_err(Into::into)?;
    pause(fate.behind).await;
    if matches!(fate.instead, Some(Instead::Reset)) {
        return Err(io::Error::from(io::ErrorKind::ConnectionReset).into());
    }
    Ok(answer.map(Mortal::new))
}

/// Not even a tick of the clock passes where nothing was said.
async fn pause(time: Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}

fn refused(refusal: &Refusal, info: &RequestInfo) -> Result<Response<Mortal>, BoxError> {
    let code = StatusCode::from_u16(refusal.code())?;
    let body = refusal.status(info).to_string();
    let mut answer = json(code, Full::new(Bytes::from(body)));
    if let Some(seconds) = refusal.seconds() {
        answer.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    Ok(answer)
}

fn json(code: StatusCode, body: Full<Bytes>) -> Response<Mortal> {
    let mut answer = Response::new(Mortal::new(body));
    *answer.status_mut() = code;
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(CONTENT_TYPE, json);
    answer
}
