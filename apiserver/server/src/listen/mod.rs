//! The HTTPS listener: HTTP/1.1 and HTTP/2 over TLS, and a clean stop.

mod clients;
mod connection;
mod error;
mod frames;
mod kubeconfig;
mod serving;

use std::net::SocketAddr;
use std::sync::Arc;

use kubewright_endpoints::Shared;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Duration;
use tokio_rustls::TlsAcceptor;

use crate::kubernetes_service;
use clients::Clients;
pub use error::ListenError;
pub use serving::SecureServing;
use serving::Tls;

/// A running HTTPS listener. Dropping it stops it.
#[derive(Debug)]
pub struct Listening {
    shared: Arc<Shared>,
    address: SocketAddr,
    /// What clients have to trust, unless it is the server's own authority.
    trust: Option<String>,
    own_clients: bool,
    stop: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
}

/// What every connection passes: the handshake, and the verification of the certificate that the client shows.
#[derive(Clone)]
struct Door {
    acceptor: TlsAcceptor,
    clients: Arc<Clients>,
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

    /// The certificate that clients have to trust, as PEM: of the server's own authority, or the serving certificate from the
    /// configuration.
    pub fn certificate_authority(&self) -> &str {
        if let Some(given) = &self.trust {
            return given;
        }
        self.shared
            .access
            .authority()
            .map_or("", |authority| authority.certificate_pem())
    }

    /// The admin's bearer token.
    pub fn token(&self) -> &str {
        self.shared.access.token()
    }

    /// A self-contained kubeconfig for the admin: with a client certificate, or with the admin's token if another authority
    /// signs client certificates.
    pub fn kubeconfig(&self) -> String {
        let access = &self.shared.access;
        if !self.own_clients {
            return self.kubeconfig_with_token(&kubewright_auth::admin().username, access.token());
        }
        access
            .authority()
            .and_then(|authority| {
                kubeconfig::of_admin(self.address, self.certificate_authority(), authority)
            })
            .unwrap_or_default()
    }

    /// A kubeconfig with a bearer token, such as a service account's; `user` is the user's name in the file.
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
        kubernetes_service::withdraw(&self.shared.store, self.address);
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

/// Binds and serves.
pub(crate) async fn listen(
    shared: Arc<Shared>,
    address: SocketAddr,
    serving: SecureServing,
) -> Result<Listening, ListenError> {
    let bound = TcpListener::bind(address)
        .await
        .map_err(|source| ListenError::Bind { address, source })?;
    let local = bound
        .local_addr()
        .map_err(|source| ListenError::Bind { address, source })?;
    let Tls {
        config,
        clients,
        trust,
        own_clients,
    } = serving.tls(&shared.access, local.ip())?;
    let door = Door {
        acceptor: TlsAcceptor::from(Arc::new(config)),
        clients,
    };
    kubernetes_service::publish(&shared.store, local);
    let stop = watch::Sender::new(false);
    let task = tokio::spawn(accept(shared.clone(), bound, door, stop.subscribe()));
    Ok(Listening {
        shared,
        address: local,
        trust,
        own_clients,
        stop,
        task: Some(task),
    })
}

async fn accept(
    shared: Arc<Shared>,
    listener: TcpListener,
    door: Door,
    mut stop: watch::Receiver<bool>,
) {
    const BACK_OFF: Duration = Duration::from_millis(50);
    const GRACE: Duration = Duration::from_secs(2);
    let mut connections = JoinSet::new();
    while !*stop.borrow_and_update() {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    let served = connection::serve(shared.clone(), socket, door.clone(), stop.clone());
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
