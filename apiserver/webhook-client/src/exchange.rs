//! One HTTP request and its answer on one connection.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use http::{Request, response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::connect::Connected;
use super::fault;
use super::pool::{Http1, Http2};

/// The most that is read of an answer: far more than any review needs, little enough to hold.
const LIMIT: usize = 64 << 20;

/// An answer, whole.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) head: response::Parts,
    pub(super) body: Result<Bytes, String>,
}

/// Why there is no answer.
pub(super) enum Unanswered {
    /// The connection was closed before anything was written: the request may go out again on another one.
    Unsent,
    Failed(String),
}

/// A fresh connection, ready for requests.
pub(super) enum Connection {
    Http1(Box<Http1>),
    Http2(Http2),
}

impl Connected {
    pub(super) async fn ready(self) -> Result<Connection, String> {
        let io = TokioIo::new(self.stream);
        if self.http2 {
            let handshake = http2::handshake(TokioExecutor::new(), io).await;
            let (sender, connection) = handshake.map_err(|error| format!("http2: {error}"))?;
            let task = tokio::spawn(connection).abort_handle();
            return Ok(Connection::Http2(Http2::new(sender, task)));
        }
        let handshake = http1::handshake(io).await;
        let (sender, connection) =
            handshake.map_err(|error| fault::exchange(&error, self.ends, &self.memory))?;
        let connection = Box::pin(connection);
        let Self {
            memory,
            ends,
            socket,
            ..
        } = self;
        Ok(Connection::Http1(Box::new(Http1 {
            sender,
            connection,
            memory,
            ends,
            socket,
        })))
    }
}

impl Http1 {
    /// Sends the request and reads the answer, driving the connection on the caller's own task: no hand-over between
    /// tasks, which would cost more than the request. `has_head` becomes true once the answer has begun.
    pub(super) async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        has_head: &AtomicBool,
    ) -> Result<Answered, Unanswered> {
        self.memory.clear();
        let Self {
            sender,
            connection,
            memory,
            ends,
            ..
        } = self;
        let talk = async {
            if sender.ready().await.is_err() {
                return Err(Unanswered::Unsent);
            }
            let response = match sender.try_send_request(request).await {
                Ok(response) => response,
                Err(mut error) => {
                    return Err(match error.take_message() {
                        Some(_) => Unanswered::Unsent,
                        None => Unanswered::Failed(fault::exchange(error.error(), *ends, memory)),
                    });
                }
            };
            has_head.store(true, Ordering::Relaxed);
            let (head, body) = response.into_parts();
            let body = read(body).await.map_err(|why| match why {
                Unread::Broken(error) => fault::broken_body(&error, *ends, memory),
                Unread::TooLong => too_long(),
            });
            Ok(Answered { head, body })
        };
        let mut talk = pin!(talk);
        let mut open = true;
        poll_fn(|cx| {
            if let Poll::Ready(answer) = talk.as_mut().poll(cx) {
                return Poll::Ready(answer);
            }
            if open {
                open = connection.as_mut().poll(cx).is_pending();
            }
            talk.as_mut().poll(cx)
        })
        .await
    }
}

impl Http2 {
    /// Sends the request and reads the answer.
    pub(super) async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        has_head: &AtomicBool,
    ) -> Result<Answered, Unanswered> {
        if self.sender.ready().await.is_err() {
            return Err(Unanswered::Unsent);
        }
        let response = match self.sender.try_send_request(request).await {
            Ok(response) => response,
            Err(mut error) => {
                return Err(match error.take_message() {
                    Some(_) => Unanswered::Unsent,
                    None => Unanswered::Failed(lost(error.error())),
                });
            }
        };
        has_head.store(true, Ordering::Relaxed);
        let (head, body) = response.into_parts();
        let body = read(body).await.map_err(|why| match why {
            Unread::Broken(error) => lost(&error),
            Unread::TooLong => too_long(),
        });
        Ok(Answered { head, body })
    }
}

enum Unread {
    Broken(hyper::Error),
    TooLong,
}

async fn read(mut body: Incoming) -> Result<Bytes, Unread> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(Unread::Broken)?.into_data() else {
            continue;
        };
        if first.is_empty() {
            first = data;
            continue;
        }
        if first.len() + rest.len() + data.len() > LIMIT {
            return Err(Unread::TooLong);
        }
        if rest.is_empty() {
            rest.extend_from_slice(&first);
        }
        rest.extend_from_slice(&data);
    }
    Ok(if rest.is_empty() {
        first
    } else {
        rest.freeze()
    })
}

fn too_long() -> String {
    format!("the response is longer than {LIMIT} bytes")
}

/// Go's words for a stream or connection that ended: the reason code where there is one.
fn lost(error: &hyper::Error) -> String {
    use std::error::Error as _;
    let cause = error
        .source()
        .map_or_else(|| error.to_string(), ToString::to_string);
    if error.is_closed() || error.is_incomplete_message() {
        "http2: client connection lost".to_owned()
    } else {
        format!("http2: {cause}")
    }
}
