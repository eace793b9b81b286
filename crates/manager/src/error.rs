//! Why a program does not start, or does not end as it should.

use kubewright_certificates::CertificateError;
use kubewright_controller::LeaderElectionError;
use kubewright_server::BindError;
use kubewright_webhook::DeclarationError;

use crate::metrics::MetricsError;
use crate::{ConfigurationError, TaskError};

/// Error from starting a program.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_controller::Cached;
/// use kubewright_manager::{App, Program, StartError};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let program = Program::new(|needs| {
///     let pods: Cached<Pod> = needs.cached();
///     App::new("census")
/// });
/// let error = program.start().await.unwrap_err();
/// assert!(matches!(error, StartError::NoClient));
/// assert_eq!(error.to_string(), "cannot reach the cluster: the program was given no client");
/// # }
/// ```
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
    Election(#[from] LeaderElectionError),
    /// A metric that the program registers has a name or a label that Prometheus would misread.
    #[error("cannot register the metrics")]
    Metrics(#[from] MetricsError),
    /// A task has a name, a schedule or a time zone that cannot be used.
    #[error("cannot run the tasks")]
    Tasks(#[from] TaskError),
    /// Two clusters or fleets have the same name.
    #[error("cannot work in other clusters: two clusters or fleets are named `{0}`")]
    Clusters(String),
    /// A controller in another cluster is sharded.
    #[error(
        "cannot share the objects of the controller `{0}`: in other clusters one replica reconciles all of them; remove `sharded`"
    )]
    ShardedElsewhere(String),
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
    /// The address of metrics or health probes cannot be listened on.
    #[error("cannot serve metrics and health probes")]
    Diagnostics(#[source] BindError),
    /// No certificate can be made for the metrics, which the program serves over HTTPS.
    #[error("cannot make a certificate for the metrics")]
    MetricsCertificate(#[source] CertificateError),
    /// The server cannot listen, or has no certificate to serve.
    #[error("cannot start the server")]
    Server(#[from] BindError),
    /// A part of the program has panicked before it could serve.
    #[error("cannot go on: {0} has panicked")]
    Panicked(&'static str),
}

/// Error from running a program.
///
/// ```
/// use kubewright_manager::RunError;
///
/// /// Returns whether a restart helps: the program has a bug if one of its components panicked.
/// fn is_transient(error: &RunError) -> bool {
///     !matches!(error, RunError::Panicked(_))
/// }
///
/// let error = RunError::Panicked("the configuration");
/// assert_eq!(error.to_string(), "cannot go on: the configuration has panicked");
/// assert!(!is_transient(&error));
/// ```
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
