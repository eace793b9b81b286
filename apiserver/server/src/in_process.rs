//! Connections that callers in this process upgrade: they have one, from one end of a pipe to the other.

use std::convert::Infallible;

use bytes::Bytes;
use http::header::UPGRADE;
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::client::conn::http1 as client;
use hyper::server::conn::http1 as server;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use kubewright_endpoints::{Body, BoxError, Incoming};
use tower::Service;

/// How many bytes wait between the two ends.
const WAITING: usize = 64 << 10;

/// Whether a request asks for a connection to be upgraded, and comes without one.
pub(crate) fn lacks_connection(parts: &Parts) -> bool {
    parts.headers.contains_key(UPGRADE) && parts.extensions.get::<OnUpgrade>().is_none()
}

/// Sends a request over a connection of its own, which the answer has in its extensions.
pub(crate) async fn serve<S>(service: S, parts: Parts, body: Incoming) -> Response<Body>
where
    S: Service<Request<hyper::body::Incoming>, Response = Response<Body>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    exchange(service, parts, body)
        .await
        .unwrap_or_else(|error| {
            tracing::warn!(error, "a request in this process was not answered");
            let mut response = Response::new(Body::from(error.to_string()));
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response
        })
}

async fn exchange<S>(service: S, parts: Parts, body: Incoming) -> Result<Response<Body>, BoxError>
where
    S: Service<Request<hyper::body::Incoming>, Response = Response<Body>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    let (near, far) = tokio::io::duplex(WAITING);
    let served = server::Builder::new()
        .serve_connection(TokioIo::new(far), TowerToHyperService::new(service))
        .with_upgrades();
    // Both end with the answer, or hand the connection over with it.
    tokio::spawn(served);
    let (mut sender, connection) = client::handshake(TokioIo::new(near)).await?;
    tokio::spawn(connection.with_upgrades());
    let answer = sender
        .send_request(Request::from_parts(parts, body))
        .await?;
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Ok(answer.map(|_| Body::from("")));
    }
    let (parts, body) = answer.into_parts();
    let whole: Bytes = body.collect().await?.to_bytes();
    Ok(Response::from_parts(parts, Body::from(whole)))
}
