//! The two phases of a server: what it is made of, and that it is bound.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::{Request, Response};
use kubewright_certificates::{AnySource, CertificateSource, TrustBundle, TrustFile};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower::Service;

use crate::accept::{self, Acceptor};
use crate::clients::LiveClients;
use crate::crowd::Crowd;
use crate::drain::Phase;
use crate::health::Health;
use crate::limited::BoxError;
use crate::run::{Runner, follow};
use crate::shared::Shared;
use crate::tls::{self, OldestTls};
use crate::{
    BindError, Body, ClientCheck, Condition, Counters, Drain, Limits, LiveIdentity, Readiness,
    RunError,
};

/// A server that is not bound yet: a service, a source of certificates, and settings with safe defaults.
///
/// ```
/// use kubewright_certificates::SelfSigned;
/// use kubewright_server::Server;
/// use tower::service_fn;
#[doc = include_str!("client.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]))
///     .listen(([127, 0, 0, 1], 0))
///     .bind()
///     .await?;
/// let answer = ask(server, post("/", "hello")).await?;
/// assert_eq!(answer.body(), "hello");
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct Server<S> {
    service: S,
    source: AnySource,
    address: SocketAddr,
    limits: Limits,
    drain: Drain,
    health: Health,
    probes: Probes,
    oldest: OldestTls,
    clients: Option<ClientCheck>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Probes {
    Answered,
    PassedOn,
}

/// A server that listens and has its first certificate. It serves once it is [run](Bound::run).
///
/// ```
/// use kubewright_certificates::SelfSigned;
/// use kubewright_server::{Bound, Server};
/// use tower::service_fn;
#[doc = include_str!("client.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"])).listen(([127, 0, 0, 1], 0)).bind().await?;
/// // Everything that has to outlive `run` is taken before it.
/// let (counters, readiness) = (server.counters(), server.readiness());
/// ask(server, get("/")).await?;
/// assert_eq!(counters.read().calls, 1);
/// assert!(readiness.conditions().iter().any(|(name, _)| name == "certificate"));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct Bound<S> {
    service: S,
    source: AnySource,
    listener: TcpListener,
    address: SocketAddr,
    live: LiveIdentity,
    drain: Drain,
    serving: Condition,
    shared: Arc<Shared>,
    client_authorities: Option<TrustFile>,
}

impl<S> Server<S> {
    /// Serves `service` with the certificates of `source`.
    ///
    /// ```
    /// use kubewright_certificates::{Authority, Identity};
    /// use kubewright_server::Server;
    /// use std::time::Duration;
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// // The source of a test: one identity, which never changes.
    /// let issued = Authority::new("test")?.sign_server(["localhost"], Duration::from_secs(60))?;
    /// let source = vec![issued.identity()?].into_iter();
    /// let server = Server::new(service_fn(echo), source).listen(([127, 0, 0, 1], 0)).bind().await?;
    /// assert_eq!(ask(server, get("/")).await?.status(), 200);
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(service: S, source: impl CertificateSource) -> Self {
        Self {
            service,
            source: AnySource::new(source),
            address: SocketAddr::from(([0, 0, 0, 0], 9443)),
            limits: Limits::default(),
            drain: Drain::default(),
            health: Health::default(),
            probes: Probes::Answered,
            oldest: OldestTls::Tls13,
            clients: None,
        }
    }

    /// Sets the address to listen on. The default is `0.0.0.0:9443`. Port 0 takes any that is free.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::Server;
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"])).listen(([127, 0, 0, 1], 0));
    /// let address = server.bind().await?.local_addr();
    /// assert!(address.ip().is_loopback());
    /// # Ok(())
    /// # }
    /// ```
    pub fn listen(mut self, address: impl Into<SocketAddr>) -> Self {
        self.address = address.into();
        self
    }

    /// Sets the limits for clients.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::{Limits, Server};
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]))
    ///     .listen(([127, 0, 0, 1], 0))
    ///     .limits(Limits::default().body(4))
    ///     .bind()
    ///     .await?;
    /// assert_eq!(ask(server, post("/", "hello")).await?.status(), 413);
    /// # Ok(())
    /// # }
    /// ```
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how the server shuts down.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::{Drain, Server};
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]))
    ///     .listen(([127, 0, 0, 1], 0))
    ///     .drain(Drain::default().propagation(Duration::ZERO))
    ///     .bind()
    ///     .await?;
    /// let start = std::time::Instant::now();
    /// server.run(async {}).await?;
    /// assert!(start.elapsed() < Duration::from_secs(5), "without the default propagation time");
    /// # Ok(())
    /// # }
    /// ```
    pub fn drain(mut self, drain: Drain) -> Self {
        self.drain = drain;
        self
    }

    /// Sets the conditions of `/healthz` and `/livez`. Without conditions both answer 200.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::{Readiness, Server};
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let liveness = Readiness::default();
    /// liveness.check("worker", || false); // For example, whether a thread has made progress.
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]))
    ///     .listen(([127, 0, 0, 1], 0))
    ///     .liveness(liveness)
    ///     .bind()
    ///     .await?;
    /// let answer = ask(server, get("/livez")).await?;
    /// assert_eq!(answer.status(), 503);
    /// assert!(answer.body().contains("[-]worker failed"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn liveness(mut self, liveness: Readiness) -> Self {
        self.health.liveness = liveness;
        self
    }

    /// Sets the conditions of `/readyz`. The server adds `serving` and `certificate`.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::{Readiness, Server};
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let readiness = Readiness::default();
    /// let synced = readiness.condition("caches");
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]))
    ///     .listen(([127, 0, 0, 1], 0))
    ///     .readiness(readiness)
    ///     .bind()
    ///     .await?;
    /// synced.set(true);
    /// assert_eq!(ask(server, get("/readyz")).await?.status(), 200);
    /// # Ok(())
    /// # }
    /// ```
    pub fn readiness(mut self, readiness: Readiness) -> Self {
        self.health.readiness = readiness;
        self
    }

    /// Passes `/healthz`, `/livez` and `/readyz` to the service. By default the server answers them itself.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::Server;
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]))
    ///     .listen(([127, 0, 0, 1], 0))
    ///     .pass_probes_on()
    ///     .bind()
    ///     .await?;
    /// let answer = ask(server, get("/livez")).await?;
    /// assert_eq!(answer.body(), "", "the service echoes an empty body, and the server would say ok");
    /// # Ok(())
    /// # }
    /// ```
    pub fn pass_probes_on(mut self) -> Self {
        self.probes = Probes::PassedOn;
        self
    }

    /// Accepts TLS 1.2 beside TLS 1.3. By default the server accepts TLS 1.3 alone.
    pub fn accept_tls12(mut self) -> Self {
        self.oldest = OldestTls::Tls12;
        self
    }

    /// Answers only clients that authenticate with a certificate. By default every client is answered.
    ///
    /// ```
    /// use kubewright_certificates::{Authority, SelfSigned};
    /// use kubewright_server::{ClientCheck, Server};
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let authority = Authority::new("clients")?;
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]))
    ///     .listen(([127, 0, 0, 1], 0))
    ///     .clients(ClientCheck::by_authorities(authority.trust()))
    ///     .bind()
    ///     .await?;
    /// let answer = ask(server, get("/")).await?;
    /// assert_eq!(answer.status(), 403, "the client has no certificate");
    /// # Ok(())
    /// # }
    /// ```
    pub fn clients(mut self, check: ClientCheck) -> Self {
        self.clients = Some(check);
        self
    }
}

impl<S> Server<S> {
    /// Listens, and waits for the first certificate. It finds every error of the start.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::{BindError, Server};
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let server = || Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]));
    /// let first = server().listen(([127, 0, 0, 1], 0)).bind().await?;
    /// let second = server().listen(first.local_addr()).bind().await;
    /// assert!(matches!(second, Err(BindError::Listen { .. })), "the address is in use");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// * The address cannot be listened on: it is in use, not this machine's, or needs a privilege.
    /// * The source of certificates fails. A source that can still come to have one, such as
    ///   [`Files`](kubewright_certificates::Files) that are not there yet, is waited for.
    /// * The authorities of clients cannot be used. A file of them that is not there yet is waited for.
    /// * TLS cannot be set up.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the listener.
    pub async fn bind(mut self) -> Result<Bound<S>, BindError> {
        let fail = |source| BindError::Listen {
            address: self.address,
            source,
        };
        let listener = accept::listen(self.address).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let first = self
            .source
            .next()
            .await
            .map_err(|source| BindError::Certificate { source })?;
        let live = LiveIdentity::of(first);
        let clients = match &mut self.clients {
            Some(check) => {
                let live = LiveClients::start(check).await;
                Some(live.map_err(|source| BindError::Clients { source })?)
            }
            None => None,
        };
        let tls = tls::acceptor(&live, self.oldest, clients.is_some(), &["h2", "http/1.1"])
            .map_err(|source| BindError::Tls { source })?;
        let serving = self.health.readiness.condition("serving");
        let checked = live.clone();
        self.health.readiness.check("certificate", move || {
            SystemTime::now() < checked.current().expires()
        });
        let answers_probes = self.probes == Probes::Answered;
        let shared = Arc::new(Shared::new(
            self.limits,
            self.health,
            answers_probes,
            tls,
            clients,
        ));
        Ok(Bound {
            service: self.service,
            source: self.source,
            listener,
            address,
            live,
            drain: self.drain,
            serving,
            shared,
            client_authorities: self.clients.and_then(ClientCheck::into_file),
        })
    }
}

impl<S> Bound<S> {
    /// Returns the address that the server listens on, with the port that it got.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::Server;
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"])).listen(([127, 0, 0, 1], 0)).bind().await?;
    /// assert_ne!(server.local_addr().port(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the CA certificates that clients have to trust now.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::Server;
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"])).listen(([127, 0, 0, 1], 0)).bind().await?;
    /// assert!(server.trust().to_pem().starts_with("-----BEGIN CERTIFICATE-----"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn trust(&self) -> TrustBundle {
        self.live.trust()
    }

    /// Returns the identity that is served, also once the server runs.
    pub fn identity(&self) -> LiveIdentity {
        self.live.clone()
    }

    /// Returns the readiness, whose conditions `/readyz` shows.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::Server;
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"])).listen(([127, 0, 0, 1], 0)).bind().await?;
    /// let readiness = server.readiness();
    /// assert!(!readiness.is_ready(), "it does not serve yet");
    /// # Ok(())
    /// # }
    /// ```
    pub fn readiness(&self) -> Readiness {
        self.shared.health.readiness.clone()
    }

    /// Returns the counters of the server.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::Server;
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"])).listen(([127, 0, 0, 1], 0)).bind().await?;
    /// let counters = server.counters();
    /// ask(server, get("/")).await?;
    /// assert_eq!(counters.read().connections_accepted, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn counters(&self) -> Counters {
        self.shared.counters.clone()
    }
}

impl<S, B> Bound<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error: Into<BoxError>>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    /// Serves until `shutdown` resolves, then shuts down as [`Drain`] says, and returns when every call is answered.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::{Drain, Server};
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]))
    ///     .listen(([127, 0, 0, 1], 0))
    ///     .drain(Drain::default().propagation(Duration::ZERO))
    ///     .bind()
    ///     .await?;
    /// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    /// let running = tokio::spawn(server.run(async { drop(stopped.await) }));
    /// drop(stop); // For example, when the program receives SIGTERM.
    /// running.await??;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When calls were still in flight at the end of the grace.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends everything at once: connections are closed, and calls in flight are cancelled. A program does
    /// this at a second signal.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), RunError> {
        let now = async {
            shutdown.await;
            Instant::now()
        };
        self.run_since(now).await
    }

    /// Serves as [`run`](Self::run) does, when other things were stopped before the server: the grace counts from the moment
    /// that `shutdown` resolves to.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    ///
    /// # Cancel safety
    ///
    /// As for [`run`](Self::run).
    pub async fn run_since(self, shutdown: impl Future<Output = Instant>) -> Result<(), RunError> {
        let counters = self.shared.counters.clone();
        let mut follower = JoinSet::new();
        follower.spawn(follow(self.source, self.live, counters.clone()));
        if let (Some(clients), Some(file)) = (&self.shared.clients, self.client_authorities) {
            follower.spawn(Arc::clone(clients).follow(file, counters.clone()));
        }
        let runner = Runner {
            acceptor: Acceptor::new(self.listener, counters),
            service: self.service,
            shared: self.shared,
            serving: self.serving,
            drain: self.drain,
            phase: watch::Sender::new(Phase::Serving),
            connections: JoinSet::new(),
            crowd: Crowd::default(),
        };
        runner.run(shutdown).await
    }
}

impl<S> fmt::Debug for Server<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Server")
            .field("address", &self.address)
            .field("limits", &self.limits)
            .field("drain", &self.drain)
            .finish_non_exhaustive()
    }
}

impl<S> fmt::Debug for Bound<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Bound")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
