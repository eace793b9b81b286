//! Connections that wait for the next call.

use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::connect::{Place, Stream};
use super::fault::Ends;
use super::witness::Memory;

/// How many connections to one place wait at most.
const IDLE: usize = 25;

/// How long a connection waits at most.
const IDLE_TIME: Duration = Duration::from_secs(90);

/// The waiting connections of one client.
#[derive(Default)]
pub(super) struct Pool {
    idle: Mutex<Vec<Waiting>>,
    shared: Mutex<Vec<(Place, Http2)>>,
}

struct Waiting {
    place: Place,
    since: Instant,
    connection: Box<Http1>,
}

/// An HTTP/1.1 connection. Nothing reads from it while it waits: whoever uses it drives it.
pub(super) struct Http1 {
    pub(super) sender: http1::SendRequest<Full<Bytes>>,
    pub(super) connection: Pin<Box<http1::Connection<TokioIo<Stream>, Full<Bytes>>>>,
    pub(super) memory: Memory,
    pub(super) ends: Ends,
    pub(super) socket: std::net::TcpStream,
}

/// An HTTP/2 connection, driven by a task of its own that ends with it.
#[derive(Clone)]
pub(super) struct Http2 {
    pub(super) sender: http2::SendRequest<Full<Bytes>>,
    pub(super) task: AbortHandle,
}

impl Pool {
    /// The connection to this place that was used last and is still open.
    pub(super) async fn take(&self, place: &Place) -> Option<Box<Http1>> {
        loop {
            let mut waiting = {
                let mut idle = self.idle.lock();
                let at = idle.iter().rposition(|waiting| waiting.place == *place)?;
                idle.remove(at)
            };
            let fresh = waiting.since.elapsed() < IDLE_TIME;
            if fresh && waiting.connection.is_silent() && waiting.connection.is_open().await {
                return Some(waiting.connection);
            }
        }
    }

    /// Keeps a connection for the next call.
    pub(super) async fn put(&self, place: &Place, mut connection: Box<Http1>) {
        if !connection.is_open().await {
            return;
        }
        let mut idle = self.idle.lock();
        if idle
            .iter()
            .filter(|waiting| waiting.place == *place)
            .count()
            < IDLE
        {
            idle.push(Waiting {
                place: place.clone(),
                since: Instant::now(),
                connection,
            });
        }
    }

    /// The open HTTP/2 connection to this place.
    pub(super) fn shared(&self, place: &Place) -> Option<Http2> {
        let mut shared = self.shared.lock();
        shared.retain(|(_, connection)| !connection.sender.is_closed());
        let found = shared.iter().find(|(known, _)| known == place);
        found.map(|(_, connection)| connection.clone())
    }

    /// Keeps an HTTP/2 connection for this and all later calls.
    pub(super) fn share(&self, place: &Place, connection: Http2) {
        self.shared.lock().push((place.clone(), connection));
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for (_, connection) in self.shared.get_mut() {
            connection.task.abort();
        }
    }
}

impl Http1 {
    /// Whether the socket has nothing to read. A server has nothing to say between calls but that it closes, and the
    /// runtime may not have noticed yet.
    fn is_silent(&self) -> bool {
        let seen = self.socket.peek(&mut [0]);
        seen.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Lets the connection notice that the other side has closed it.
    async fn is_open(&mut self) -> bool {
        let closed = poll_fn(|cx| Poll::Ready(self.connection.as_mut().poll(cx).is_ready())).await;
        !closed && !self.sender.is_closed()
    }
}
