//! A program that has loaded what it needs: it serves, or runs its controllers, until it is told to stop.

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

/// A program whose port is open: calls wait until it runs.
#[must_use]
pub struct Serving<C> {
    pub(crate) app: App,
    pub(crate) background: Background,
    pub(crate) bound: Bound<Continued<Webhooks>, C>,
}

/// A program without webhooks that has loaded what it needs.
#[derive(Debug)]
#[must_use]
pub struct Started {
    pub(crate) background: Background,
    pub(crate) readiness: Readiness,
}

impl Started {
    /// Returns the address at which probes are answered, if there is one.
    pub fn monitor_addr(&self) -> Option<SocketAddr> {
        self.background.monitor_addr()
    }

    /// Returns whether everything that the program works with is complete.
    pub fn readiness(&self) -> Readiness {
        self.readiness.clone()
    }

    /// Runs until `shutdown` resolves and the reconciles at hand are done.
    ///
    /// # Errors
    ///
    /// When a part of the program has panicked. The rest was stopped then, as if `shutdown` had resolved.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the program at once, reconciles at hand included.
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

    /// Returns the address at which probes are answered by plain HTTP, if there is one.
    pub fn monitor_addr(&self) -> Option<SocketAddr> {
        self.background.monitor_addr()
    }

    /// Returns the certificates that clients must trust now.
    pub fn trust(&self) -> TrustBundle {
        self.bound.trust()
    }

    /// Writes the program's manifests, for an API server that reaches it at `endpoint`, with the
    /// trust that its certificate needs. A program with an authority of its own publishes that itself, so that it stands in no
    /// manifest.
    ///
    /// # Errors
    ///
    /// When the API server would not accept a name.
    pub fn manifests(&self, endpoint: Endpoint) -> Result<Manifests, ManifestError> {
        let trust = self.app.authority().is_none().then(|| self.trust());
        manifests(&self.app, endpoint, trust.as_ref())
    }

    /// Returns whether calls should be sent here: the server serves, and the caches are complete.
    pub fn readiness(&self) -> Readiness {
        self.bound.readiness()
    }

    /// Serves until `shutdown` resolves and the calls and reconciles at hand are done.
    ///
    /// # Errors
    ///
    /// When calls were still in flight at the end of the grace, or a part of the program has panicked. The rest was stopped
    /// then, as if `shutdown` had resolved.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the program at once, without an answer to the calls in flight.
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
