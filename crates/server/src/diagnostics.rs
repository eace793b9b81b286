//! A server for the kubelet's health probes and for metrics.

mod access;
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
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use self::access::Check;
pub use self::access::{Access, AccessRequest};
use self::slots::{Slot, Slots};
use crate::accept::{self, Acceptor};
use crate::health::Health;
use crate::tls::{self, OldestTls};
use crate::{BindError, Counters, LiveIdentity, Readiness};

/// A server for health probes (`/healthz`, `/livez`, `/readyz`) and pages such as `/metrics`.
///
/// It answers from memory and reads no body. It keeps at most 256 connections: for a new one it closes a connection of the address
/// with most of them, the one that has been idle for longest. So a probe is answered however many clients are connected, and
/// however often they connect again. An idle connection is closed after five seconds. While half of the connections are taken,
/// each is closed after its answer.
///
/// It speaks plain HTTP, or [HTTPS](Self::over_tls), and [authorizes](Self::authorize) those who read pages if asked to.
///
/// # Example: one page
///
/// ```
/// use kubewright_server::{DiagnosticsServer, Readiness};
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// use tokio::net::TcpStream;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let diagnostics = DiagnosticsServer::new()
///     .probes(Readiness::default(), Readiness::default())
///     .page("/motd", "text/plain", || "welcome".to_owned())
///     .bind(([127, 0, 0, 1], 0))
///     .await?;
/// let address = diagnostics.local_addr();
/// let ask = async {
///     let mut stream = TcpStream::connect(address).await?;
///     stream.write_all(b"GET /motd HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await?;
///     let mut answer = String::new();
///     stream.read_to_string(&mut answer).await?;
///     Ok::<_, std::io::Error>(answer)
/// };
/// tokio::select! {
///     () = diagnostics.run() => {}
///     answer = ask => assert!(answer?.ends_with("welcome")),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[must_use]
#[derive(Default)]
pub struct DiagnosticsServer {
    health: Option<Health>,
    pages: Vec<Page>,
    check: Option<Check>,
    identity: Option<LiveIdentity>,
}

struct Page {
    path: &'static str,
    content_type: &'static str,
    write: Box<dyn Fn() -> String + Send + Sync>,
}

/// A [`DiagnosticsServer`] that listens.
///
/// ```
/// use kubewright_server::{DiagnosticsServer, Readiness};
#[doc = include_str!("client.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let diagnostics = DiagnosticsServer::new()
///     .probes(Readiness::default(), Readiness::default())
///     .bind(([127, 0, 0, 1], 0))
///     .await?;
/// assert_ne!(diagnostics.local_addr().port(), 0);
/// let answer = ask_diagnostics(diagnostics, get("/livez")).await?;
/// assert_eq!((answer.status().as_u16(), answer.body().as_str()), (200, "ok"));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct BoundDiagnostics {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    server: Arc<DiagnosticsServer>,
}

impl DiagnosticsServer {
    /// Creates a server without probes and pages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers `/healthz` and `/livez` by the first checks, and `/readyz` by the second.
    ///
    /// ```
    /// use kubewright_server::{DiagnosticsServer, Readiness};
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let readiness = Readiness::default();
    /// let synced = readiness.condition("caches");
    /// let diagnostics = DiagnosticsServer::new()
    ///     .probes(Readiness::default(), readiness)
    ///     .bind(([127, 0, 0, 1], 0))
    ///     .await?;
    /// let answer = ask_diagnostics(diagnostics, get("/readyz")).await?;
    /// assert_eq!(answer.status(), 503);
    /// assert!(answer.body().contains("[-]caches failed"));
    /// # synced.set(true);
    /// # Ok(())
    /// # }
    /// ```
    pub fn probes(mut self, liveness: Readiness, readiness: Readiness) -> Self {
        self.health = Some(Health {
            liveness,
            readiness,
        });
        self
    }

    /// Adds a page, which is rendered for each request.
    ///
    /// ```
    /// use kubewright_server::DiagnosticsServer;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let diagnostics = DiagnosticsServer::new()
    ///     .page("/version", "application/json", || r#"{"version":"1.2.0"}"#.to_owned())
    ///     .bind(([127, 0, 0, 1], 0))
    ///     .await?;
    /// let answer = ask_diagnostics(diagnostics, get("/version")).await?;
    /// assert_eq!(answer.headers()["content-type"], "application/json");
    /// assert_eq!(answer.body(), r#"{"version":"1.2.0"}"#);
    /// # Ok(())
    /// # }
    /// ```
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

    /// Speaks HTTPS, by TLS 1.3, with the identity that is served at the time of a handshake. Default: plain HTTP.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_certificates::Authority;
    /// use kubewright_server::{DiagnosticsServer, LiveIdentity, Readiness};
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let authority = Authority::new("metrics")?;
    /// let identity = authority.sign_server(["localhost"], Duration::from_secs(60))?.identity()?;
    /// let diagnostics = DiagnosticsServer::new()
    ///     .probes(Readiness::default(), Readiness::default())
    ///     .over_tls(LiveIdentity::of(identity))
    ///     .bind(([127, 0, 0, 1], 0))
    ///     .await?;
    /// let call = call(diagnostics.local_addr(), authority.trust(), None, get("/livez"));
    /// let answer = tokio::select! { () = diagnostics.run() => unreachable!(), answer = call => answer? };
    /// assert_eq!(answer.body(), "ok");
    /// # Ok(())
    /// # }
    /// ```
    pub fn over_tls(mut self, identity: LiveIdentity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// Shows pages only to clients that the function allows it, by the bearer token that they send. Probes are answered for all.
    ///
    /// A client without a token is answered 401 without a call of the function. The function should not take long: while it decides,
    /// the client has one of the connections.
    ///
    /// ```
    /// use kubewright_server::{Access, AccessRequest, DiagnosticsServer};
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let diagnostics = DiagnosticsServer::new()
    ///     .page("/metrics", "text/plain", String::new)
    ///     .authorize(async |request: AccessRequest| match request.token.as_str() {
    ///         "prometheus" => Access::Allowed,
    ///         _ => Access::Unauthenticated,
    ///     })
    ///     .bind(([127, 0, 0, 1], 0))
    ///     .await?;
    /// let answer = ask_diagnostics(diagnostics, get("/metrics")).await?;
    /// assert_eq!(answer.status(), 401);
    /// # Ok(())
    /// # }
    /// ```
    pub fn authorize<F>(
        mut self,
        check: impl Fn(AccessRequest) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Access> + Send + 'static,
    {
        self.check = Some(Check::new(check));
        self
    }

    /// Opens the port. Port 0 takes any that is free.
    ///
    /// ```
    /// use kubewright_server::{BindError, DiagnosticsServer};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let first = DiagnosticsServer::new().bind(([127, 0, 0, 1], 0)).await?;
    /// let second = DiagnosticsServer::new().bind(first.local_addr()).await;
    /// assert!(matches!(second, Err(BindError::Listen { .. })), "the address is in use");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the address cannot be listened on, or TLS cannot be set up.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the port.
    #[expect(
        clippy::unused_async,
        reason = "it needs the runtime, and is awaited like a server's"
    )]
    pub async fn bind(self, listen: impl Into<SocketAddr>) -> Result<BoundDiagnostics, BindError> {
        let address = listen.into();
        let cannot = |source| BindError::Listen { address, source };
        let listener = accept::listen(address).map_err(cannot)?;
        let tls = self.identity.as_ref();
        let tls = tls.map(|live| tls::acceptor(live, OldestTls::Tls13, false, &["http/1.1"]));
        let tls = tls
            .transpose()
            .map_err(|source| BindError::Tls { source })?;
        Ok(BoundDiagnostics {
            tls,
            address: listener.local_addr().map_err(cannot)?,
            listener,
            server: Arc::new(self),
        })
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (method, uri) = (request.method(), request.uri());
        let health = self.health.as_ref();
        if let Some((status, text)) = health.and_then(|health| health.answer(method, uri)) {
            return reply(status, PLAIN, text);
        }
        match self.pages.iter().find(|page| page.path == uri.path()) {
            Some(page) if matches!(*method, Method::GET | Method::HEAD) => {
                let access = match &self.check {
                    Some(check) => check.access(request.headers(), page.path).await,
                    None => Access::Allowed,
                };
                match access::refusal(access) {
                    Some((status, sentence)) => {
                        let mut refusal = refuse(status, sentence);
                        if status == StatusCode::UNAUTHORIZED {
                            let bearer = HeaderValue::from_static("Bearer");
                            refusal
                                .headers_mut()
                                .insert(header::WWW_AUTHENTICATE, bearer);
                        }
                        refusal
                    }
                    None => reply(StatusCode::OK, page.content_type, (page.write)()),
                }
            }
            Some(_) => refuse(
                StatusCode::METHOD_NOT_ALLOWED,
                "method not allowed: use GET\n",
            ),
            None => refuse(StatusCode::NOT_FOUND, "page not found\n"),
        }
    }
}

impl BoundDiagnostics {
    /// Returns the address that it listens on, with the port that it got.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Answers until it is dropped.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_server::DiagnosticsServer;
    /// use tokio::net::TcpStream;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let diagnostics = DiagnosticsServer::new().bind(([127, 0, 0, 1], 0)).await?;
    /// let address = diagnostics.local_addr();
    /// // It ends with the future that it is part of.
    /// assert!(tokio::time::timeout(Duration::from_millis(10), diagnostics.run()).await.is_err());
    /// assert!(TcpStream::connect(address).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
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
                    let (server, tls) = (Arc::clone(&self.server), self.tls.clone());
                    let serving = accept(stream, tls, server, Arc::clone(&slot));
                    slots.enter(slot, connections.spawn(serving));
                }
            }
        }
    }
}

async fn accept(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    server: Arc<DiagnosticsServer>,
    slot: Arc<Slot>,
) {
    let Some(tls) = tls else {
        return serve(Box::new(stream), server, slot).await;
    };
    let mut handshake = pin!(timeout(IDLE, tls.accept(stream)));
    let handshake = poll_fn(|cx| {
        let polled = handshake.as_mut().poll(cx);
        slot.was_looked_at();
        polled
    });
    match handshake.await {
        Ok(Ok(stream)) => serve(Box::new(stream), server, slot).await,
        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake of the metrics endpoint failed"),
        Err(_) => {}
    }
}

/// Of one type, so that a program has the code that serves HTTP here only once.
type Stream = Box<dyn Io>;

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

async fn serve(stream: Stream, server: Arc<DiagnosticsServer>, slot: Arc<Slot>) {
    let asked = Arc::clone(&slot);
    let service = service_fn(move |request: Request<Incoming>| {
        asked.is_asked();
        let (server, asked) = (Arc::clone(&server), Arc::clone(&asked));
        async move {
            let mut answer = server.answer(request).await;
            if asked.is_wanted() {
                let close = HeaderValue::from_static("close");
                answer.headers_mut().insert(header::CONNECTION, close);
            }
            Ok::<_, Infallible>(answer)
        }
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
    // The client sees the error; no one else has to.
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
    reply(status, PLAIN, sentence.to_owned())
}

impl fmt::Debug for DiagnosticsServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pages: Vec<&str> = self.pages.iter().map(|page| page.path).collect();
        formatter
            .debug_struct("DiagnosticsServer")
            .field("health", &self.health)
            .field("pages", &pages)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for BoundDiagnostics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("BoundDiagnostics")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";
const CONNECTIONS: usize = 256;
const HEADER_BYTES: usize = 16 * 1024;
const IDLE: Duration = Duration::from_secs(5);
const CONNECTION_TIME: Duration = Duration::from_mins(2);
