//! A server that runs in the background of a test.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use kubewright_certificates::{SelfSigned, TrustBundle};
use kubewright_server::{
    Body, BodyError, Counters, Counts, Drain, LiveIdentity, Readiness, RunError, Server,
};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tower::Service;

use crate::client::{Client, HTTP1, HTTP2};

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) trust: TrustBundle,
    pub(crate) identity: LiveIdentity,
    pub(crate) counters: Counters,
    pub(crate) readiness: Readiness,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), RunError>>,
}

/// A drain without waiting: what most tests want.
pub(crate) fn quick() -> Drain {
    Drain::default().propagation(Duration::ZERO)
}

pub(crate) async fn start<S>(server: Server<S>) -> Running
where
    S: Service<Request<Body>, Response = Response<Full<Bytes>>> + Clone + Send + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    S::Future: Send,
{
    let bound = server.listen(([127, 0, 0, 1], 0)).bind().await.unwrap();
    let (stop, stopped) = oneshot::channel();
    Running {
        address: bound.local_addr(),
        trust: bound.trust(),
        identity: bound.identity(),
        counters: bound.counters(),
        readiness: bound.readiness(),
        stop: Some(stop),
        task: tokio::spawn(bound.run(async {
            let _ = stopped.await;
        })),
    }
}

/// A server of one's own service with a certificate for `localhost`.
pub(crate) fn server<S>(service: S) -> Server<S> {
    Server::new(service, SelfSigned::for_names(["localhost"])).drain(quick())
}

impl Running {
    pub(crate) fn http1(&self) -> Client {
        Client::new(self.address, &self.trust, HTTP1)
    }

    pub(crate) fn http2(&self) -> Client {
        Client::new(self.address, &self.trust, HTTP2)
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counters.read()
    }

    /// Asks the server to stop, as a first signal does.
    pub(crate) fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Ends the server at once, as a second signal does.
    pub(crate) fn abort(&self) {
        self.task.abort();
    }

    /// Waits until the server has stopped.
    pub(crate) async fn stopped(&mut self) -> Result<(), RunError> {
        within(&mut self.task, "the server to stop").await.unwrap()
    }

    /// Waits until the counters say what is expected, and fails when they never do.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(Counts) -> bool) {
        let wait = async {
            while !holds(self.counts()) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        within(wait, what).await;
    }
}

/// Waits with a deadline that only something broken misses.
pub(crate) async fn within<F: Future>(future: F, what: &str) -> F::Output {
    match tokio::time::timeout(Duration::from_mins(1), future).await {
        Ok(output) => output,
        Err(_) => unreachable!("waited for {what} in vain"),
    }
}

/// Answers with the length of the body.
pub(crate) async fn length(request: Request<Body>) -> Result<Response<Full<Bytes>>, BodyError> {
    let body = request.into_body().collect().await?.to_bytes();
    Ok(Response::new(Full::new(Bytes::from(
        body.len().to_string(),
    ))))
}

/// Answers with a text and does not look at the body.
#[expect(clippy::unnecessary_wraps, reason = "it is what a service returns")]
pub(crate) fn answer(text: impl Into<Bytes>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(text.into())))
}
