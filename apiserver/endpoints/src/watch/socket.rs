//! A watch over WebSocket: each event is one text message.
//!
//! Browsers and some clients in Java follow changes so. The handshake has the habits of the library that the real API server
//! uses: it refuses requests without an `Origin`, and those that name several protocols.

use bytes::Bytes;
use futures::{SinkExt as _, StreamExt as _};
use http::header::{
    CONNECTION, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode, Uri};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use kubewright_auth::{is_websocket, websocket_protocols};
use tokio::time::{Duration, Instant, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::Utf8Bytes;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::body::{Body, Events};
use crate::rest::call::Call;
use crate::rest::negotiate::Encoding;
use crate::rest::upgrade::{accept_key, no_connection};

/// A client's half of the handshake.
#[derive(Debug)]
pub(super) struct Handshake {
    headers: HeaderMap,
    encoding: Encoding,
    upgrade: Option<OnUpgrade>,
}

impl Handshake {
    /// Takes the handshake out of a request; none if it asks for no WebSocket.
    pub(super) fn of(call: &mut Call) -> Option<Self> {
        is_websocket(&call.headers).then(|| Self {
            headers: call.headers.clone(),
            encoding: call.output.encoding,
            upgrade: call.upgrade.take(),
        })
    }

    /// Answers the request, and then sends the events.
    pub(super) fn accept(self, events: Events) -> Response<Body> {
        let header = |name| {
            self.headers
                .get(name)
                .map_or(&b""[..], HeaderValue::as_bytes)
        };
        let key = header(SEC_WEBSOCKET_KEY);
        if key.is_empty() {
            return refusal(StatusCode::BAD_REQUEST, "mismatch challenge/response");
        }
        if header(SEC_WEBSOCKET_VERSION) != VERSION.as_bytes() {
            let why = "missing or bad WebSocket Version";
            let mut refused = refusal(StatusCode::BAD_REQUEST, why);
            refused.headers_mut().insert(SEC_WEBSOCKET_VERSION, VERSION);
            return refused;
        }
        if !is_uri(header(ORIGIN)) {
            return refusal(StatusCode::FORBIDDEN, "");
        }
        let mut protocols = websocket_protocols(&self.headers);
        let protocol = protocols.next();
        if protocols.next().is_some() {
            return refusal(StatusCode::BAD_REQUEST, "");
        }
        let Some(upgrade) = self.upgrade else {
            return no_connection();
        };
        let mut response = Response::new(Body::from(""));
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        if let Ok(accept) = HeaderValue::try_from(accept_key(key)) {
            headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
        }
        if let Some(Ok(protocol)) = protocol.map(HeaderValue::from_str) {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        tokio::spawn(send(upgrade, events, self.encoding));
        response
    }
}

/// The one version of the protocol.
const VERSION: HeaderValue = HeaderValue::from_static("13");

fn refusal(code: StatusCode, why: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(why));
    *response.status_mut() = code;
    response
}

/// Whether an origin is a URI or a path, as in Go's `url.ParseRequestURI`.
fn is_uri(origin: &[u8]) -> bool {
    let uri = Uri::try_from(origin);
    uri.is_ok_and(|uri| uri.scheme().is_some() || origin.starts_with(b"/"))
}

/// Sends events until they end or the client closes the connection. Ignores messages of the client, and answers pings.
async fn send(upgrade: OnUpgrade, mut events: Events, encoding: Encoding) {
    /// Maximum size of a client's message.
    const LARGEST: Option<usize> = Some(128 << 10);
    const CLOSING: Duration = Duration::from_secs(1);
    let Ok(upgraded) = upgrade.await else {
        return;
    };
    let config = WebSocketConfig::default()
        .max_message_size(LARGEST)
        .max_frame_size(LARGEST);
    let stream = TokioIo::new(upgraded);
    let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    let mut count = Received::new();
    let code = loop {
        tokio::select! {
            event = events.next() => {
                let Some(line) = event else {
                    break CloseCode::Normal;
                };
                let Some(message) = message(line, encoding) else {
                    break CloseCode::Error;
                };
                if socket.send(message).await.is_err() {
                    return;
                }
            }
            received = socket.next() => match received {
                None | Some(Ok(Message::Close(_))) => break CloseCode::Normal,
                Some(Ok(_)) if count.is_too_much() => break CloseCode::Policy,
                Some(Ok(_)) => {}
                Some(Err(Error::Protocol(_))) => break CloseCode::Protocol,
                Some(Err(Error::Capacity(_))) => break CloseCode::Size,
                Some(Err(_)) => return,
            },
        }
    };
    let reason = Utf8Bytes::from_static("");
    let closed = async {
        // The close frame does not reach a client that has closed its side already.
        drop(socket.close(Some(CloseFrame { code, reason })).await);
        while let Some(Ok(_)) = socket.next().await {}
    };
    drop(timeout(CLOSING, closed).await);
}

/// The message of an event: a text message, or for protobuf the bytes without the length prefix, because messages are framed.
fn message(event: Bytes, encoding: Encoding) -> Option<Message> {
    const LENGTH: usize = size_of::<u32>();
    if encoding == Encoding::Protobuf {
        return (event.len() >= LENGTH).then(|| Message::Binary(event.slice(LENGTH..)));
    }
    Utf8Bytes::try_from(event).ok().map(Message::Text)
}

/// How much a client sends.
struct Received {
    since: Instant,
    count: u32,
}

impl Received {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            count: 0,
        }
    }

    /// Counts a message. True for a client that sends nothing but work.
    fn is_too_much(&mut self) -> bool {
        const PER_SECOND: u32 = 1000;
        if self.since.elapsed() >= Duration::from_secs(1) {
            *self = Self::new();
        }
        self.count += 1;
        self.count > PER_SECOND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_uri_or_a_path() {
        for origin in ["http://localhost", "https://a.example.com:8443", "/x"] {
            assert!(is_uri(origin.as_bytes()), "{origin}");
        }
        for origin in ["", "null", "junk"] {
            assert!(!is_uri(origin.as_bytes()), "{origin}");
        }
    }
}
