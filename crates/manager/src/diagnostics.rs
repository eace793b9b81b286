//! Probes and metrics endpoint of a program, on one address or on two.

mod readers;
mod secure;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::FutureExt as _;
use kube::Client;
use kubewright_server::{DiagnosticsServer, LiveIdentity, Readiness};
use prometheus_client::registry::Registry;
use tokio::task::JoinSet;

pub(crate) use self::readers::rules;
use self::secure::Secured;
pub(crate) use self::secure::{SECURE, Secure};
use crate::inspection::{self, Inspect, Shown};
use crate::metrics::Metrics;
use crate::recorder::Recorder;
use crate::{App, StartError, client, traces};

/// Addresses on which a program serves metrics and health probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Addresses {
    pub(crate) metrics: Option<SocketAddr>,
    /// The address of the metrics unless set.
    pub(crate) health_probes: Option<SocketAddr>,
}

/// The metrics of a program and the servers of its metrics and health probes, which stop when this is dropped.
pub(crate) struct Diagnostics {
    pub(crate) metrics: Metrics,
    bound: Addresses,
    secured: Option<Secured>,
    /// Only where the metrics are secured: it has names of objects and messages of errors.
    inspection: Option<Arc<dyn Inspect>>,
    _servers: JoinSet<()>,
}

impl Diagnostics {
    /// Starts to answer, before anything else of the program begins.
    pub(crate) async fn start(
        app: &App,
        readiness: &Readiness,
        listen: Addresses,
        recorder: Option<Recorder>,
        own: Arc<Registry>,
        client: Option<&Client>,
    ) -> Result<Self, StartError> {
        let metrics = Metrics::new(own);
        let (mut servers, mut bound) = (JoinSet::new(), Addresses::default());
        let probes = || DiagnosticsServer::new().probes(app.liveness(), readiness.clone());
        let is_shared = listen
            .health_probes
            .is_none_or(|probes| Some(probes) == listen.metrics);
        let secure = app.secures_metrics().filter(|_| listen.metrics.is_some());
        let secured = match secure.zip(client) {
            Some((secure, client)) => {
                let service = app.authority().and_then(|authority| authority.service());
                Some(secure(service.unwrap_or(app.name()), client).await?)
            }
            None => None,
        };
        let inspection = secured
            .as_ref()
            .map(|secured| secured.inspect(app.name(), app.version_number()));
        if let Some(inspection) = &inspection {
            inspection.show(Shown::Checks {
                liveness: app.liveness(),
                readiness: readiness.clone(),
            });
            if app.has_webhooks() {
                inspection.show(Shown::Webhooks(app.hooks().clone()));
            }
        }
        if let Some(address) = listen.metrics {
            let page = metrics.clone();
            let server = if is_shared {
                probes()
            } else {
                DiagnosticsServer::new()
            };
            let server = server.page("/metrics", OPEN_METRICS, move || page.page());
            let server = match &secured {
                Some(secured) => secured.secure(server),
                None => server,
            };
            let server = match inspection.clone() {
                Some(inspection) => server.page(inspection::PATH, JSON, move || inspection.page()),
                None => server,
            };
            let server = server
                .bind(address)
                .await
                .map_err(StartError::Diagnostics)?;
            bound.metrics = Some(server.local_addr());
            servers.spawn(server.run().boxed());
        }
        bound.health_probes = match listen.health_probes.filter(|_| !is_shared) {
            Some(address) => {
                let server = probes().bind(address).await;
                let server = server.map_err(StartError::Diagnostics)?;
                let address = server.local_addr();
                servers.spawn(server.run().boxed());
                Some(address)
            }
            None => bound.metrics,
        };
        let reviews = bound.metrics.map(|_| metrics.clone());
        if reviews.is_some() || recorder.is_some() {
            let inspection = inspection.clone();
            app.hooks().observe(move |answered| {
                if let Some(reviews) = &reviews {
                    reviews.answered(answered);
                }
                if let Some(inspection) = &inspection {
                    inspection.answered(answered);
                }
                if let Some(recorder) = &recorder {
                    recorder.keep(answered);
                }
            });
        }
        Ok(Self {
            metrics,
            bound,
            secured,
            inspection,
            _servers: servers,
        })
    }

    /// Counts the requests of a client if metrics are served or traces are on.
    pub(crate) fn observe(&self, client: Client) -> Client {
        if self.bound.metrics.is_none() && !traces::are_on() {
            return client;
        }
        let metrics = self.metrics.clone();
        client::observed(client, move |asked| metrics.asked(asked))
    }

    pub(crate) fn addresses(&self) -> Addresses {
        self.bound
    }

    /// Whether the metrics are served over HTTPS.
    pub(crate) fn are_secured(&self) -> bool {
        self.secured.is_some()
    }

    /// Shows a part of the program, if it shows its inside.
    pub(crate) fn show(&self, part: impl FnOnce() -> Shown) {
        if let Some(inspection) = &self.inspection {
            inspection.show(part());
        }
    }

    /// Serves the metrics with the certificates of the program's webhooks from now on, if they are served over HTTPS.
    pub(crate) fn serve_with(&mut self, identity: LiveIdentity) {
        if let Some(secured) = &mut self.secured {
            secured.follow(identity);
        }
    }
}

impl fmt::Debug for Diagnostics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Diagnostics")
            .field("bound", &self.bound)
            .field("secured", &self.secured)
            .finish_non_exhaustive()
    }
}

const JSON: &str = "application/json";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
