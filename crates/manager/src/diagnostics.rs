//! Probes and metrics endpoint of a program, on one address or on two.

use std::net::SocketAddr;

use kube::Client;
use kubewright_server::{BindError, DiagnosticsServer, Readiness};
use tokio::task::JoinSet;

use crate::metrics::Metrics;
use crate::recorder::Recorder;
use crate::{App, client, traces};

/// Addresses on which a program serves metrics and health probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Addresses {
    pub(crate) metrics: Option<SocketAddr>,
    /// The address of the metrics unless set.
    pub(crate) health_probes: Option<SocketAddr>,
}

/// The metrics of a program and the servers of its metrics and health probes, which stop when this is dropped.
#[derive(Debug)]
pub(crate) struct Diagnostics {
    pub(crate) metrics: Metrics,
    bound: Addresses,
    _servers: JoinSet<()>,
}

impl Diagnostics {
    /// Starts to answer, before anything else of the program begins.
    pub(crate) async fn start(
        app: &App,
        readiness: &Readiness,
        listen: Addresses,
        recorder: Option<Recorder>,
    ) -> Result<Self, BindError> {
        let metrics = Metrics::new();
        let (mut servers, mut bound) = (JoinSet::new(), Addresses::default());
        let probes = || DiagnosticsServer::new().probes(app.liveness(), readiness.clone());
        let is_shared = listen
            .health_probes
            .is_none_or(|probes| Some(probes) == listen.metrics);
        if let Some(address) = listen.metrics {
            let page = metrics.clone();
            let server = if is_shared {
                probes()
            } else {
                DiagnosticsServer::new()
            };
            let server = server.page("/metrics", OPEN_METRICS, move || page.page());
            let server = server.bind(address).await?;
            bound.metrics = Some(server.local_addr());
            servers.spawn(server.run());
        }
        bound.health_probes = match listen.health_probes.filter(|_| !is_shared) {
            Some(address) => {
                let server = probes().bind(address).await?;
                let address = server.local_addr();
                servers.spawn(server.run());
                Some(address)
            }
            None => bound.metrics,
        };
        let reviews = bound.metrics.map(|_| metrics.clone());
        if reviews.is_some() || recorder.is_some() {
            app.hooks().observe(move |answered| {
                if let Some(reviews) = &reviews {
                    reviews.answered(answered);
                }
                if let Some(recorder) = &recorder {
                    recorder.keep(answered);
                }
            });
        }
        Ok(Self {
            metrics,
            bound,
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
}

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
