//! The two phases of a server: what it is made of, and that it is bound.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::{Request, Response};
use kubewright_certificates::{CertificateSource, TrustBundle, TrustFile};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tower::Service;

use crate::accept::{self, Acceptor};
use crate::call::BoxError;
use crate::clients::{Ask, LiveClients};
use crate::crowd::Crowd;
use crate::drain::Phase;
use crate::health::Health;
use crate::run::{Runner, follow};
use crate::shared::Shared;
use crate::{
    BindError, Body, ClientCheck, Condition, Counters, Drain, Limits, LiveIdentity, Readiness,
    RunError,
};

/// A server that is not bound yet: a service, a source of certificates, and settings with safe defaults.
#[must_use]
pub struct Server<S, C> {
    service: S,
    source: C,
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum OldestTls {
    Tls12,
    Tls13,
}

/// A server that listens and has its first certificate. It serves once it is [run](Bound::run).
#[must_use]
pub struct Bound<S, C> {
    service: S,
    source: C,
    listener: TcpListener,
    address: SocketAddr,
    live: LiveIdentity,
    drain: Drain,
    serving: Condition,
    shared: Arc<Shared>,
    client_authorities: Option<TrustFile>,
}

impl<S, C> Server<S, C> {
    /// Takes what to answer and where certificates come from.
    pub fn new(service: S, source: C) -> Self {
        Self {
            service,
            source,
            address: SocketAddr::from(([0, 0, 0, 0], 9443)),
            limits: Limits::default(),
            drain: Drain::default(),
            health: Health::default(),
            probes: Probes::Answered,
            oldest: OldestTls::Tls13,
            clients: None,
        }
    }

    /// Sets the address to listen on; `0.0.0.0:9443` unless set. Port 0 takes any that is free.
    pub fn listen(mut self, address: impl Into<SocketAddr>) -> Self {
        self.address = address.into();
        self
    }

    /// Sets what clients may ask for.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how the server stops.
    pub fn drain(mut self, drain: Drain) -> Self {
        self.drain = drain;
        self
    }

    /// Sets what `/healthz` and `/livez` tell, with conditions of the program's own.
    pub fn liveness(mut self, liveness: Readiness) -> Self {
        self.health.liveness = liveness;
        self
    }

    /// Sets the readiness that `/readyz` tells, with conditions of the program's own. The server adds `serving` and
    /// `certificate`.
    pub fn readiness(mut self, readiness: Readiness) -> Self {
        self.health.readiness = readiness;
        self
    }

    /// Passes `/healthz`, `/livez` and `/readyz` on to the service; the server answers them itself unless told so.
    pub fn pass_probes_on(mut self) -> Self {
        self.probes = Probes::PassedOn;
        self
    }

    /// Accepts TLS 1.2 too; only TLS 1.3 unless told so.
    pub fn accept_tls12(mut self) -> Self {
        self.oldest = OldestTls::Tls12;
        self
    }

    /// Answers only clients that prove who they are; every client unless set.
    pub fn clients(mut self, check: ClientCheck) -> Self {
        self.clients = Some(check);
        self
    }
}

impl<S, C: CertificateSource> Server<S, C> {
    /// Listens, and waits for the first certificate. Every error of the start is found here.
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
    pub async fn bind(mut self) -> Result<Bound<S, C>, BindError> {
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
        let tls = tls(&live, self.oldest, clients.is_some())
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

impl<S, C> Bound<S, C> {
    /// The address that the server listens on, with the port it got.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// What clients must trust now.
    pub fn trust(&self) -> TrustBundle {
        self.live.trust()
    }

    /// The identity that is served, also once the server runs.
    pub fn identity(&self) -> LiveIdentity {
        self.live.clone()
    }

    /// Whether calls should be sent here.
    pub fn readiness(&self) -> Readiness {
        self.shared.health.readiness.clone()
    }

    /// What the server has seen.
    pub fn counters(&self) -> Counters {
        self.shared.counters.clone()
    }
}

impl<S, C, B> Bound<S, C>
where
    S: Service<Request<Body>, Response = Response<B>, Error: Into<BoxError>>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    C: CertificateSource,
{
    /// Serves until `shutdown` resolves, then stops as [`Drain`] says, and returns when every call is answered.
    ///
    /// # Errors
    ///
    /// When calls were still in flight at the end of the grace.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends everything at once: connections are closed, and calls in flight are cancelled. That is
    /// what a second signal is for.
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

fn tls(
    live: &LiveIdentity,
    oldest: OldestTls,
    asks_clients: bool,
) -> Result<TlsAcceptor, rustls::Error> {
    let versions: &[&rustls::SupportedProtocolVersion] = match oldest {
        OldestTls::Tls13 => &[&rustls::version::TLS13],
        OldestTls::Tls12 => &[&rustls::version::TLS13, &rustls::version::TLS12],
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)?;
    let builder = if asks_clients {
        builder.with_client_cert_verifier(Arc::new(Ask::with(provider)))
    } else {
        builder.with_no_client_auth()
    };
    let mut config = builder.with_cert_resolver(Arc::new(live.clone()));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // API servers keep their connections and do not resume sessions: tickets would be one more message for nothing.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    Ok(TlsAcceptor::from(Arc::new(config)))
}

impl<S, C> fmt::Debug for Server<S, C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Server")
            .field("address", &self.address)
            .field("limits", &self.limits)
            .field("drain", &self.drain)
            .finish_non_exhaustive()
    }
}

impl<S, C> fmt::Debug for Bound<S, C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Bound")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
