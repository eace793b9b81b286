//! gRPC over HTTP/2: calls with one request and one response, and streams.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes, BytesMut};
use http::header::{CONTENT_TYPE, TE};
use http::{HeaderMap, HeaderValue, Request, Response, Uri};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use thiserror::Error;
use tokio::sync::mpsc;

/// A message is behind a byte that says whether it is compressed, and four with its length.
const PREFIX: usize = 5;

/// A connection. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    sender: SendRequest<Messages>,
    origin: Uri,
}

/// Why a call failed.
#[derive(Clone, Debug, Error)]
pub(crate) enum CallError {
    /// The server has answered with an error, such as `etcdserver: no leader`.
    #[error("{0}")]
    Refused(String),
    /// The connection was lost, and nothing was sent.
    #[error("{0}")]
    NotSent(String),
    /// The connection was lost; the server may have done what it was asked for.
    #[error("{0}")]
    Lost(String),
}

/// The requests of a call, as the body of an HTTP request.
#[derive(Debug)]
pub(crate) struct Messages {
    ready: VecDeque<Bytes>,
    more: Option<mpsc::UnboundedReceiver<Vec<u8>>>,
}

/// The responses of a call.
#[derive(Debug)]
pub(crate) struct Responses {
    body: Incoming,
    read: BytesMut,
}

impl Channel {
    pub(crate) fn new(sender: SendRequest<Messages>, origin: Uri) -> Self {
        Self { sender, origin }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Sends one message, and returns the message that answers it.
    pub(crate) async fn unary(&self, path: &str, message: Vec<u8>) -> Result<Bytes, CallError> {
        let mut responses = self.call(path, Messages::one(&message)).await?;
        let response = responses.next().await?;
        response.ok_or_else(|| CallError::Lost("the call ended without a response".to_owned()))
    }

    /// Sends the messages of a channel, until its sender is dropped.
    pub(crate) async fn stream(
        &self,
        path: &str,
        requests: mpsc::UnboundedReceiver<Vec<u8>>,
    ) -> Result<Responses, CallError> {
        self.call(path, Messages::from(requests)).await
    }

    async fn call(&self, path: &str, body: Messages) -> Result<Responses, CallError> {
        let mut parts = self.origin.clone().into_parts();
        parts.path_and_query = path.parse().ok();
        let uri = Uri::from_parts(parts).map_err(|error| CallError::NotSent(error.to_string()))?;
        let mut request = Request::post(uri).body(body).map_err(not_sent)?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(TE, HeaderValue::from_static("trailers"));
        // A member without a leader ends watches, instead of letting them wait.
        headers.insert("hasleader", HeaderValue::from_static("true"));
        let mut sender = self.sender.clone();
        sender.ready().await.map_err(not_sent)?;
        let response = sender.send_request(request).await.map_err(|error| {
            if error.is_canceled() {
                not_sent(error)
            } else {
                lost(&error)
            }
        })?;
        Responses::of(response)
    }
}

impl Messages {
    fn one(message: &[u8]) -> Self {
        Self {
            ready: VecDeque::from([framed(message)]),
            more: None,
        }
    }
}

impl From<mpsc::UnboundedReceiver<Vec<u8>>> for Messages {
    fn from(more: mpsc::UnboundedReceiver<Vec<u8>>) -> Self {
        Self {
            ready: VecDeque::new(),
            more: Some(more),
        }
    }
}

impl Body for Messages {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(message) = self.ready.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(message))));
        }
        let Some(more) = &mut self.more else {
            return Poll::Ready(None);
        };
        more.poll_recv(context)
            .map(|message| message.map(|message| Ok(Frame::data(framed(&message)))))
    }

    fn is_end_stream(&self) -> bool {
        self.ready.is_empty() && self.more.is_none()
    }
}

impl Responses {
    fn of(response: Response<Incoming>) -> Result<Self, CallError> {
        let (parts, body) = response.into_parts();
        if !parts.status.is_success() {
            return Err(CallError::Refused(format!("HTTP status {}", parts.status)));
        }
        // A call that is refused at once has its trailers as headers.
        check(&parts.headers)?;
        Ok(Self {
            body,
            read: BytesMut::new(),
        })
    }

    /// Returns the next message; none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(Some(message));
            }
            let Some(frame) = self.body.frame().await else {
                return Ok(None);
            };
            match frame.map_err(|error| lost(&error))?.into_data() {
                Ok(data) => self.read.extend_from_slice(&data),
                Err(frame) => {
                    if let Some(trailers) = frame.trailers_ref() {
                        check(trailers)?;
                    }
                }
            }
        }
    }

    fn take(&mut self) -> Result<Option<Bytes>, CallError> {
        let Some((prefix, rest)) = self.read.split_first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let [compressed, length @ ..] = *prefix;
        if compressed != 0 {
            return Err(CallError::Lost("a message is compressed".to_owned()));
        }
        let length = u32::from_be_bytes(length) as usize;
        if rest.len() < length {
            return Ok(None);
        }
        self.read.advance(PREFIX);
        Ok(Some(self.read.split_to(length).freeze()))
    }
}

/// Whether headers or trailers say that the call failed.
fn check(headers: &HeaderMap) -> Result<(), CallError> {
    let text = |name: &str| {
        let value = headers.get(name)?.to_str();
        value.ok().map(str::to_owned)
    };
    match text("grpc-status") {
        None => Ok(()),
        Some(code) if code == "0" => Ok(()),
        Some(code) => Err(CallError::Refused(
            text("grpc-message").unwrap_or_else(|| format!("gRPC status {code}")),
        )),
    }
}

fn framed(message: &[u8]) -> Bytes {
    let mut framed = Vec::with_capacity(PREFIX + message.len());
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    framed.push(0);
    framed.extend(length.to_be_bytes());
    framed.extend_from_slice(message);
    Bytes::from(framed)
}

fn not_sent(error: impl std::fmt::Display) -> CallError {
    CallError::NotSent(error.to_string())
}

fn lost(error: &hyper::Error) -> CallError {
    let cause = std::error::Error::source(error);
    CallError::Lost(cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}")))
}
