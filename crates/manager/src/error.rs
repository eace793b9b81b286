//! Why a program does not start, or does not end as it should.

use kubewright_controller::ElectionError;
use kubewright_server::BindError;
use kubewright_webhook::DeclarationError;

use crate::ConfigurationError;

/// Why a program does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A webhook would never be called as it is declared.
    #[error("cannot serve the webhooks")]
    Webhooks(#[from] DeclarationError),
    /// A configuration file, or a key of a ConfigMap, cannot be used.
    #[error("cannot use the configuration")]
    Configuration(#[from] ConfigurationError),
    /// The times of the election would make two leaders at once, or none.
    #[error("cannot stand for election")]
    Election(#[from] ElectionError),
    /// The program works with objects of a cluster and has no client.
    #[error("cannot reach the cluster: the program was given no client")]
    NoClient,
    /// The program was to be served with an authority of its own, and has none.
    #[error("cannot serve without a certificate: the program has no authority of its own")]
    NoAuthority,
    /// The program has webhooks and was started without a server.
    #[error(
        "cannot serve the webhooks: the program was started without an address and a certificate"
    )]
    NoServer,
    /// The address for probes and metrics cannot be listened on.
    #[error("cannot answer probes")]
    Monitor(#[source] BindError),
    /// The server cannot listen, or has no certificate to serve.
    #[error("cannot start the server")]
    Server(#[from] BindError),
    /// A part of the program has panicked before it could serve.
    #[error("cannot go on: {0} has panicked")]
    Panicked(&'static str),
}

/// Why a program did not end as it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The server could not stop cleanly.
    #[error(transparent)]
    Server(#[from] kubewright_server::RunError),
    /// A part of the program has panicked, such as its caches or its controllers, so that it could not go on. It was stopped
    /// as if it had been told to: calls were answered to the end.
    #[error("cannot go on: {0} has panicked")]
    Panicked(&'static str),
}
