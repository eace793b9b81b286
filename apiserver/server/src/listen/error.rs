//! Why the server cannot listen.

use std::io;
use std::net::SocketAddr;

use kubewright_auth::AuthorityError;
use thiserror::Error;

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
    /// A certificate or a key that was given cannot be read.
    #[error("cannot read the {what}")]
    Pem {
        /// Which of them.
        what: &'static str,
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server's certificates cannot be made.
    #[error("cannot set up TLS for the API server")]
    Tls(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<AuthorityError> for ListenError {
    fn from(error: AuthorityError) -> Self {
        Self::Tls(Box::new(error))
    }
}

/// An error of the TLS configuration.
pub(super) fn tls(error: rustls::Error) -> ListenError {
    ListenError::Tls(Box::new(error))
}
