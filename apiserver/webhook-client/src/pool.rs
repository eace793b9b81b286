//! The pool of idle connections.

use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

use super::connect::{Place, Stream};
use super::fault::Ends;
use super::witness::Memory;

/// Maximum number of idle connections per host.
const IDLE: usize = 25;

/// Maximum time that a connection stays idle.
const IDLE_TIME: Duration = Duration::from_secs(90);

/// The idle connections of one client.
#[derive(Default)]
pub(super) struct Pool {
    kept: Arc<Kept>,
}

#[derive(Default)]
struct Kept {
    idle: Mutex<Vec<Waiting>>,
    shared: Mutex<Vec<Shared>>,
    /// The task that closes connections which are idle for too long; runs while any connection is pooled.
    sweeper: Mutex<Option<AbortHandle>>,
}

struct Waiting {
    place: Place,
    since: Instant,
    connection: Box<Http1>,
}

struct Shared {
    place: Place,
    since: Instant,
    connection: Http2,
}

/// An HTTP/1.1 connection. No task reads from it while it is idle: the call that uses it drives it.
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
    task: Arc<AbortHandle>,
}

impl Pool {
    /// The connection to this place that was used last and is still open.
    pub(super) async fn take(&self, place: &Place) -> Option<Box<Http1>> {
        loop {
            let mut waiting = {
                let mut idle = self.kept.idle.lock();
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
        {
            let mut idle = self.kept.idle.lock();
            let here = idle.iter().filter(|waiting| waiting.place == *place);
            if here.count() == IDLE {
                return;
            }
            idle.push(Waiting {
                place: place.clone(),
                since: Instant::now(),
                connection,
            });
        }
        self.sweep();
    }

    /// The open HTTP/2 connection to this place.
    pub(super) fn shared(&self, place: &Place) -> Option<Http2> {
        let mut shared = self.kept.shared.lock();
        shared.retain(|shared| !shared.connection.sender.is_closed());
        let found = shared.iter_mut().find(|shared| shared.place == *place)?;
        found.since = Instant::now();
        Some(found.connection.clone())
    }

    /// Keeps an HTTP/2 connection for this and all later calls.
    pub(super) fn share(&self, place: &Place, connection: Http2) {
        self.kept.shared.lock().push(Shared {
            place: place.clone(),
            since: Instant::now(),
            connection,
        });
        self.sweep();
    }

    /// Starts the sweeper unless it runs. As in the real client, idle connections are closed without a further call.
    fn sweep(&self) {
        let mut sweeper = self.kept.sweeper.lock();
        if sweeper.is_none() {
            let kept = Arc::downgrade(&self.kept);
            let sweep = async move {
                while let Some(next) = kept.upgrade().and_then(|kept| kept.sweep()) {
                    sleep_until(next).await;
                }
            };
            *sweeper = Some(tokio::spawn(sweep).abort_handle());
        }
    }
}

impl Kept {
    /// Closes connections that are idle for too long. Returns when to sweep again, or `None` if no connection is left.
    fn sweep(&self) -> Option<Instant> {
        // A call that has added a connection checks for a sweeper under this lock: it finds this one running, or none.
        let mut sweeper = self.sweeper.lock();
        let now = Instant::now();
        let mut idle = self.idle.lock();
        idle.retain(|waiting| now < waiting.since + IDLE_TIME);
        let mut shared = self.shared.lock();
        shared.retain_mut(|shared| {
            if shared.connection.is_in_use() {
                shared.since = now;
            }
            let stays = now < shared.since + IDLE_TIME;
            if !stays {
                shared.connection.task.abort();
            }
            stays
        });
        let since = idle.iter().map(|waiting| waiting.since);
        let oldest = since.chain(shared.iter().map(|shared| shared.since)).min();
        if oldest.is_none() {
            *sweeper = None;
        }
        oldest.map(|since| since + IDLE_TIME)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let Some(sweeper) = self.kept.sweeper.lock().take() {
            sweeper.abort();
        }
        for shared in &*self.kept.shared.lock() {
            shared.connection.task.abort();
        }
    }
}

impl Http2 {
    pub(super) fn new(sender: http2::SendRequest<Full<Bytes>>, task: AbortHandle) -> Self {
        let task = Arc::new(task);
        Self { sender, task }
    }

    /// Whether a call is in progress: it holds a reference besides the pool's.
    fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.task) > 1
    }
}

impl Http1 {
    /// Whether the socket has nothing to read. Between calls a server only closes the connection, which the runtime may not
    /// have noticed yet.
    fn is_silent(&self) -> bool {
        let seen = self.socket.peek(&mut [0]);
        seen.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Whether the connection is still open, after it has been polled for a close by the server.
    async fn is_open(&mut self) -> bool {
        let closed = poll_fn(|cx| Poll::Ready(self.connection.as_mut().poll(cx).is_ready())).await;
        !closed && !self.sender.is_closed()
    }
}
