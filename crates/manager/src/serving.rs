//! A program that has loaded its configuration and serves, or runs its controllers, until shutdown.

use std::fmt;
use std::net::SocketAddr;

use kubewright_certificates::{CertificateSource, TrustBundle};
use kubewright_manifests::{Endpoint, ManifestError, Manifests, WebhookConfigurations};
use kubewright_server::{Bound, Readiness};
use kubewright_webhook::Webhooks;

use crate::App;
use crate::background::Background;
use crate::error::RunError;
use crate::tasks::Panicked;
use crate::traces::Continued;

/// A program that listens: connections wait until [`run`](Self::run) is called.
#[must_use]
pub struct Serving<C> {
    pub(crate) app: App,
    pub(crate) background: Background,
    pub(crate) bound: Bound<Continued<Webhooks>, C>,
}

/// A program without webhooks that has loaded its configuration.
#[derive(Debug)]
#[must_use]
pub struct Started {
    pub(crate) background: Background,
    pub(crate) readiness: Readiness,
}

impl Started {
    /// Returns the address of probes and metrics, if the program serves them.
    pub fn monitor_addr(&self) -> Option<SocketAddr> {
        self.background.monitor_addr()
    }

    /// Returns the readiness: whether all caches have synced.
    pub fn readiness(&self) -> Readiness {
        self.readiness.clone()
    }

    /// Runs until `shutdown` resolves and the reconciles in progress are done.
    ///
    /// # Errors
    ///
    /// When a component of the program panicked; the others were shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops the program at once and cancels the reconciles in progress.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), RunError> {
        let mut running = self.background.run();
        running.begin();
        let broken = tokio::select! {
            () = shutdown => None,
            panicked = running.broken() => Some(panicked),
        };
        running.stop_controllers(1).await;
        broken.map_or(Ok(()), |Panicked(part)| Err(RunError::Panicked(part)))
    }
}

impl<C: CertificateSource> Serving<C> {
    /// Returns the address that it listens on.
    pub fn local_addr(&self) -> SocketAddr {
        self.bound.local_addr()
    }

    /// Returns the address of probes and metrics, if the program serves them.
    pub fn monitor_addr(&self) -> Option<SocketAddr> {
        self.background.monitor_addr()
    }

    /// Returns the CA certificates that clients have to trust.
    pub fn trust(&self) -> TrustBundle {
        self.bound.trust()
    }

    /// Returns the webhook configurations for an API server that reaches the program at `endpoint`, with the `caBundle` of its
    /// certificate. A program with its own CA sets the `caBundle` at run time, so that the manifests have none.
    ///
    /// # Errors
    ///
    /// When the API server would reject a name.
    pub fn manifests(&self, endpoint: Endpoint) -> Result<Manifests, ManifestError> {
        let trust = self.app.authority().is_none().then(|| self.trust());
        manifests(&self.app, endpoint, trust.as_ref())
    }

    /// Returns the readiness: whether the server accepts requests and all caches have synced.
    pub fn readiness(&self) -> Readiness {
        self.bound.readiness()
    }

    /// Serves until `shutdown` resolves and the in-flight requests and reconciles are done.
    ///
    /// # Errors
    ///
    /// When requests were still in flight at the end of the graceful shutdown timeout, or a component of the program panicked;
    /// the others were shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops the program at once; in-flight requests get no response.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), RunError> {
        let mut running = self.background.run();
        let mut broken = None;
        let stopped = async {
            // This is looked at as soon as calls are served.
            running.begin();
            tokio::select! {
                () = shutdown => {}
                panicked = running.broken() => broken = Some(panicked),
            }
            // What the last reconciles write may concern these webhooks, so that calls are answered meanwhile.
            running.stop_controllers(2).await
        };
        let ended = self.bound.run_since(stopped).await;
        match broken {
            Some(Panicked(part)) => Err(RunError::Panicked(part)),
            None => Ok(ended?),
        }
    }
}

impl<C> fmt::Debug for Serving<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Serving")
            .field("app", &self.app)
            .field("local_addr", &self.bound.local_addr())
            .finish_non_exhaustive()
    }
}

pub(crate) fn manifests(
    app: &App,
    endpoint: Endpoint,
    trust: Option<&TrustBundle>,
) -> Result<Manifests, ManifestError> {
    let configurations =
        WebhookConfigurations::new(app.configuration_name(), app.hooks(), endpoint);
    match trust.filter(|trust| !trust.is_empty()) {
        Some(trust) => configurations.trusting(trust.to_pem()).build(),
        None => configurations.build(),
    }
}
