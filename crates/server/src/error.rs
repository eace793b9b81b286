//! Why a server does not start, and why it did not stop cleanly.

use std::io;
use std::net::SocketAddr;

use kubewright_certificates::CertificateError;

/// A server that cannot start.
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

/// A server that could not stop cleanly.
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
