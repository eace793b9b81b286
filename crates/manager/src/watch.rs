//! What those see who watch over a program: probes and metrics, on a port of their own.

use std::net::SocketAddr;

use kube::Client;
use kubewright_server::{BindError, Monitor, Readiness};
use tokio::task::JoinSet;

use crate::metrics::Metrics;
use crate::recorder::Recorder;
use crate::{App, client, traces};

/// The metrics of a program and, if it has a port for them, whoever answers there. That ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) metrics: Metrics,
    address: Option<SocketAddr>,
    _monitor: JoinSet<()>,
}

impl Watch {
    /// Begins to answer, before anything else of the program begins.
    pub(crate) async fn start(
        app: &App,
        readiness: &Readiness,
        listen: Option<SocketAddr>,
        recorder: Option<Recorder>,
    ) -> Result<Self, BindError> {
        let metrics = Metrics::new();
        let (mut tasks, mut address) = (JoinSet::new(), None);
        if let Some(listen) = listen {
            let page = metrics.clone();
            let monitor = Monitor::new(app.liveness(), readiness.clone()).page(
                "/metrics",
                OPEN_METRICS,
                move || page.page(),
            );
            let bound = monitor.bind(listen).await?;
            address = Some(bound.local_addr());
            tasks.spawn(bound.run());
        }
        let reviews = address.map(|_| metrics.clone());
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
            address,
            _monitor: tasks,
        })
    }

    /// The same client, with its calls counted if there is somebody to tell of them.
    pub(crate) fn observe(&self, client: Client) -> Client {
        if self.address.is_none() && !traces::are_on() {
            return client;
        }
        let metrics = self.metrics.clone();
        client::observed(client, move |asked| metrics.asked(asked))
    }

    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.address
    }
}

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
