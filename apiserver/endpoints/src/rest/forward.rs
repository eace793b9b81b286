//! Requests that another server answers: what is passed on to it, and its answer as it comes.

use bytes::Bytes;
use futures::StreamExt as _;
use http::header::{
    AUTHORIZATION, CONNECTION, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, BodyStream, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use kubewright_kubelet::Connection;

use crate::body::Body;

/// The headers of a request that are passed on: not those of its connection, and not those that say who sends it.
pub(crate) fn headers(headers: &HeaderMap) -> HeaderMap {
    let mut passed = without_connection(headers);
    let own: Vec<HeaderName> = passed
        .keys()
        .filter(|name| name.as_str().starts_with("impersonate-"))
        .cloned()
        .collect();
    for name in own.iter().chain([&AUTHORIZATION]) {
        passed.remove(name);
    }
    passed
}

/// Sends a request on a connection, which the other server may upgrade.
///
/// # Errors
/// The other server does not answer; the text says why.
///
/// # Cancel safety
/// Dropping the future closes the connection.
pub(super) async fn exchange(
    connection: Connection,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, String> {
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(connection)).await;
    let (mut sender, driver) = handshake.map_err(|error| error.to_string())?;
    // It ends when the answer has been read, or when its body is dropped.
    tokio::spawn(driver.with_upgrades());
    let answer = sender.send_request(request).await;
    answer.map_err(|error| error.to_string())
}

/// The answer for the client, whose body is read as the other server writes it.
pub(super) fn answer(answer: Response<Incoming>) -> Response<Body> {
    let (head, body) = answer.into_parts();
    let mut response = Response::new(streamed(body));
    *response.status_mut() = head.status;
    *response.headers_mut() = without_connection(&head.headers);
    response
}

/// The headers without those that are for one connection alone.
pub(crate) fn without_connection(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|names| names.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let always = [
        CONNECTION,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
        HeaderName::from_static("keep-alive"),
    ];
    for name in named.iter().chain(&always) {
        kept.remove(name);
    }
    kept
}

fn streamed(body: Incoming) -> Body {
    // An answer that breaks off ends the body, as the length tells the client.
    let frames = BodyStream::new(body.map_err(drop));
    let data = frames.filter_map(async |frame| frame.ok()?.into_data().ok());
    Body::stream(Box::pin(data))
}
