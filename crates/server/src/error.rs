//! Why a server does not start, and why it did not stop cleanly.

use std::io;
use std::net::SocketAddr;

use kubewright_certificates::CertificateError;

/// The reason why a server cannot start.
///
/// ```
/// use kubewright_server::{BindError, DiagnosticsServer};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let taken = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
/// let diagnostics = DiagnosticsServer::new();
/// let Err(BindError::Listen { address, source }) = diagnostics.bind(taken.local_addr()?).await else { panic!() };
/// assert_eq!(address, taken.local_addr()?);
/// assert_eq!(source.kind(), std::io::ErrorKind::AddrInUse);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The address cannot be listened on: it is taken, not this machine's, or not allowed.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why it cannot be listened on.
        source: io::Error,
    },
    /// The source of certificates has failed before it gave one.
    #[error("cannot get the server's first certificate")]
    Certificate {
        /// Why there is none.
        source: CertificateError,
    },
    /// The authorities of clients cannot be used.
    #[error("cannot tell which clients to believe")]
    Clients {
        /// What is wrong with them.
        source: CertificateError,
    },
    /// TLS cannot be set up.
    #[error("cannot set up TLS")]
    Tls {
        /// Why not.
        source: rustls::Error,
    },
}

/// The reason why a server could not shut down cleanly.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use http::Request;
/// use kubewright_certificates::SelfSigned;
/// use kubewright_server::{Body, Drain, RunError, Server};
#[doc = include_str!("client.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let called = Arc::new(tokio::sync::Notify::new());
/// let calling = Arc::clone(&called);
/// let stuck = tower::service_fn(move |request: Request<Body>| {
///     calling.notify_one();
///     async { std::future::pending::<()>().await; echo(request).await }
/// });
/// let server = Server::new(stuck, SelfSigned::for_names(["localhost"]))
///     .listen(([127, 0, 0, 1], 0))
///     .drain(Drain::default().propagation(Duration::ZERO).grace(Duration::from_secs(1)))
///     .bind()
///     .await?;
/// let call = call(server.local_addr(), server.trust(), None, get("/"));
/// let (ended, answer) = tokio::join!(server.run(called.notified()), call);
/// assert!(matches!(ended, Err(RunError::GraceExceeded { calls: 1 })));
/// assert_eq!(answer?.status(), 503);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Calls were still in flight when the grace ended; they were answered with 503 or cut.
    #[error("{calls} calls were not finished when the grace ended")]
    GraceExceeded {
        /// How many.
        calls: u64,
    },
}
