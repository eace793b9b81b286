//! The HTTPS listener: HTTP/1.1 and HTTP/2 over TLS, and a clean stop.

mod connection;
mod kubeconfig;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Duration;
use tokio_rustls::TlsAcceptor;

use crate::access::AuthorityError;
use crate::server::Shared;

/// A running HTTPS listener. Dropping it stops it.
#[derive(Debug)]
pub struct Listening {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
}

/// Why the server cannot listen.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The address cannot be bound.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The server's certificates cannot be made.
    #[error("cannot set up TLS for the API server")]
    Tls(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Listening {
    /// The address that clients reach.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the server.
    pub fn url(&self) -> String {
        kubeconfig::url(self.address)
    }

    /// The certificate of the server's own authority as PEM: what clients trust.
    pub fn certificate_authority(&self) -> &str {
        self.shared
            .access
            .authority()
            .map_or("", |authority| authority.certificate_pem())
    }

    /// The admin's bearer token.
    pub fn token(&self) -> &str {
        self.shared.access.token()
    }

    /// A kubeconfig for the admin, with everything that a client needs inside it.
    pub fn kubeconfig(&self) -> String {
        self.shared
            .access
            .authority()
            .and_then(|authority| kubeconfig::of_admin(self.address, authority))
            .unwrap_or_default()
    }

    /// A kubeconfig for whoever has this token, such as one of a service account; `user` names them in the file.
    pub fn kubeconfig_with_token(&self, user: &str, token: &str) -> String {
        kubeconfig::with_token(self.address, self.certificate_authority(), user, token)
    }

    /// Stops: no new connections, watches end, requests in flight are answered, then every connection is closed.
    ///
    /// # Cancel safety
    /// Dropping the future stops at once.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        if let Some(task) = &mut self.task {
            // The task ends by itself within its grace; an error could only be its own panic.
            let _ = task.await;
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

impl From<AuthorityError> for ListenError {
    fn from(error: AuthorityError) -> Self {
        Self::Tls(Box::new(error))
    }
}

/// Binds and serves.
pub(crate) async fn listen(
    shared: Arc<Shared>,
    address: SocketAddr,
) -> Result<Listening, ListenError> {
    let bound = TcpListener::bind(address)
        .await
        .map_err(|source| ListenError::Bind { address, source })?;
    let local = bound
        .local_addr()
        .map_err(|source| ListenError::Bind { address, source })?;
    let acceptor = TlsAcceptor::from(Arc::new(tls(&shared, local)?));
    let stop = watch::Sender::new(false);
    let task = tokio::spawn(accept(shared.clone(), bound, acceptor, stop.subscribe()));
    Ok(Listening {
        shared,
        address: local,
        stop,
        task: Some(task),
    })
}

fn tls(shared: &Shared, address: SocketAddr) -> Result<ServerConfig, ListenError> {
    let failed = |error: rustls::Error| ListenError::Tls(Box::new(error));
    let authority = shared.access.authority()?;
    let serving = authority.serving(address.ip())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate().clone()).map_err(failed)?;
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .allow_unauthenticated()
        .build()
        .map_err(|error| ListenError::Tls(Box::new(error)))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .with_client_cert_verifier(clients)
        .with_single_cert(serving.chain, serving.key)
        .map_err(failed)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

async fn accept(
    shared: Arc<Shared>,
    listener: TcpListener,
    acceptor: TlsAcceptor,
    mut stop: watch::Receiver<bool>,
) {
    const BACK_OFF: Duration = Duration::from_millis(50);
    const GRACE: Duration = Duration::from_secs(2);
    let mut connections = JoinSet::new();
    while !*stop.borrow_and_update() {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    let served = connection::serve(shared.clone(), socket, acceptor.clone(), stop.clone());
                    connections.spawn(served);
                }
                // Out of file descriptors, most likely: wait for some to be closed.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(BACK_OFF).await;
                }
            },
            Some(_) = connections.join_next() => {}
            _ = stop.changed() => {}
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE, drained).await.is_err() {
        connections.shutdown().await;
    }
}
