//! One request to an aggregated API server, and its answer.

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use kubewright_webhook_client::{Located, Reach, ServiceTls};

use crate::rest::request::BoxError;

/// The most that the head of an answer may have, as Go's client has it.
const MOST_HEAD: usize = 1 << 20;

/// Sends a request on a connection of its own: one that hangs holds up no other.
///
/// # Errors
/// The server does not answer; the text is Go's.
///
/// # Cancel safety
/// Dropping the future closes the connection.
pub(super) async fn send<B>(
    reach: Reach<'_>,
    located: &Located,
    tls: &ServiceTls,
    request: Request<B>,
) -> Result<Response<Incoming>, String>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let stream = reach.connect(located, tls).await?;
    let mut builder = http1::Builder::new();
    builder.max_buf_size(MOST_HEAD);
    let handshake = builder.handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| said(&error))?;
    // It ends when the answer has been read, or when the sender and the answer's body are dropped.
    tokio::spawn(connection.with_upgrades());
    let answer = sender.send_request(request).await;
    answer.map_err(|error| said(&error))
}

/// Go's word for a connection that is closed without an answer.
fn said(error: &hyper::Error) -> String {
    if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        return "EOF".to_owned();
    }
    error.to_string()
}
