//! A plain HTTP listener for the kubelet's probes and for what reads a program's metrics.

mod slots;

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::slots::{Slot, Slots};
use crate::accept::{self, Acceptor};
use crate::health::Health;
use crate::{BindError, Counters, Readiness};

/// A plain HTTP listener for probes (`/healthz`, `/livez`, `/readyz`) and pages such as `/metrics`.
///
/// It answers from memory and reads no body. Of its 256 connections one is closed for a new one: of the address that has most of
/// them, the one that has been without a request for longest. So a probe is answered however many clients are connected, and
/// however often they connect again. Without a request a connection lasts for five seconds. While half of them are taken, each is
/// closed after its answer.
///
/// # Example: a program that is alive, and one page
///
/// ```
/// use kubewright_server::{Monitor, Readiness};
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// use tokio::net::TcpStream;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let monitor = Monitor::new(Readiness::default(), Readiness::default())
///     .page("/motd", "text/plain", || "welcome".to_owned())
///     .bind(([127, 0, 0, 1], 0))
///     .await?;
/// let address = monitor.local_addr();
/// let ask = async {
///     let mut stream = TcpStream::connect(address).await?;
///     stream.write_all(b"GET /motd HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await?;
///     let mut answer = String::new();
///     stream.read_to_string(&mut answer).await?;
///     Ok::<_, std::io::Error>(answer)
/// };
/// tokio::select! {
///     () = monitor.run() => {}
///     answer = ask => assert!(answer?.ends_with("welcome")),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[must_use]
pub struct Monitor {
    health: Health,
    pages: Vec<Page>,
}

struct Page {
    path: &'static str,
    content_type: &'static str,
    write: Box<dyn Fn() -> String + Send + Sync>,
}

/// A [`Monitor`] that listens.
#[must_use]
pub struct BoundMonitor {
    listener: TcpListener,
    address: SocketAddr,
    monitor: Arc<Monitor>,
}

impl Monitor {
    /// Answers probes by these checks.
    pub fn new(liveness: Readiness, readiness: Readiness) -> Self {
        Self {
            health: Health {
                liveness,
                readiness,
            },
            pages: Vec::new(),
        }
    }

    /// Adds a page, which is written anew for everybody who asks.
    pub fn page(
        mut self,
        path: &'static str,
        content_type: &'static str,
        write: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        self.pages.push(Page {
            path,
            content_type,
            write: Box::new(write),
        });
        self
    }

    /// Opens the port.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened on.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the port.
    #[expect(
        clippy::unused_async,
        reason = "it needs the runtime, and is awaited like a server's"
    )]
    pub async fn bind(self, listen: impl Into<SocketAddr>) -> Result<BoundMonitor, BindError> {
        let address = listen.into();
        let cannot = |source| BindError::Listen { address, source };
        let listener = accept::listen(address).map_err(cannot)?;
        Ok(BoundMonitor {
            address: listener.local_addr().map_err(cannot)?,
            listener,
            monitor: Arc::new(self),
        })
    }

    fn answer(&self, method: &Method, uri: &http::Uri) -> Response<Full<Bytes>> {
        if let Some((status, text)) = self.health.answer(method, uri) {
            return reply(status, "text/plain; charset=utf-8", text);
        }
        match self.pages.iter().find(|page| page.path == uri.path()) {
            Some(page) if matches!(*method, Method::GET | Method::HEAD) => {
                reply(StatusCode::OK, page.content_type, (page.write)())
            }
            Some(_) => refuse(
                StatusCode::METHOD_NOT_ALLOWED,
                "this is only read, by GET\n",
            ),
            None => refuse(StatusCode::NOT_FOUND, "there is nothing at this path\n"),
        }
    }
}

impl BoundMonitor {
    /// The address that it listens on, with the port it got.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Answers until it is dropped.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the port and every connection.
    pub async fn run(self) {
        let mut acceptor = Acceptor::new(self.listener, Counters::default());
        let mut connections = JoinSet::new();
        let mut slots = Slots::new(CONNECTIONS);
        loop {
            let is_free = slots.make_room();
            tokio::select! {
                biased;
                Some(ended) = connections.join_next_with_id() => {
                    slots.leave(ended.map_or_else(|error| error.id(), |(id, ())| id));
                }
                // Connections that have just been accepted are looked at before others are: their requests may be there.
                () = slots.changed(), if !is_free => {}
                (stream, from) = acceptor.accept(), if is_free => {
                    let slot = slots.slot(from);
                    let serving = serve(stream, Arc::clone(&self.monitor), Arc::clone(&slot));
                    slots.enter(slot, connections.spawn(serving));
                }
            }
        }
    }
}

async fn serve(stream: TcpStream, monitor: Arc<Monitor>, slot: Arc<Slot>) {
    let asked = Arc::clone(&slot);
    let service = service_fn(move |request: Request<Incoming>| {
        asked.is_asked();
        let mut answer = monitor.answer(request.method(), request.uri());
        if asked.is_wanted() {
            let close = HeaderValue::from_static("close");
            answer.headers_mut().insert(header::CONNECTION, close);
        }
        async { Ok::<_, Infallible>(answer) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // It counts from the end of the last answer, too.
        .header_read_timeout(IDLE)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(timeout(CONNECTION_TIME, connection));
    let watched = poll_fn(|cx| {
        let polled = connection.as_mut().poll(cx);
        slot.was_looked_at();
        polled
    });
    // Who asks hears what is wrong; there is nobody else to tell.
    drop(watched.await);
}

fn reply(status: StatusCode, content_type: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut reply = Response::new(Full::from(text));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    reply
}

fn refuse(status: StatusCode, sentence: &'static str) -> Response<Full<Bytes>> {
    reply(status, "text/plain; charset=utf-8", sentence.to_owned())
}

impl fmt::Debug for Monitor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pages: Vec<&str> = self.pages.iter().map(|page| page.path).collect();
        formatter
            .debug_struct("Monitor")
            .field("health", &self.health)
            .field("pages", &pages)
            .finish()
    }
}

impl fmt::Debug for BoundMonitor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("BoundMonitor")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

const CONNECTIONS: usize = 256;
const HEADER_BYTES: usize = 16 * 1024;
const IDLE: Duration = Duration::from_secs(5);
const CONNECTION_TIME: Duration = Duration::from_mins(2);
