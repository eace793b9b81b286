//! Metrics over HTTPS: the certificate that they are served with, and who may read them.

use std::ops::ControlFlow;

use kube::Client;
use kubewright_certificates::{CertificateSource, SelfSigned};
use kubewright_server::{DiagnosticsServer, LiveIdentity};
use tokio::task::JoinSet;
use tokio::time::{Duration, sleep};

use super::readers::Readers;
use crate::{App, StartError};

/// What it takes to serve metrics over HTTPS to those who may read them.
#[derive(Debug)]
pub(super) struct Secured {
    identity: LiveIdentity,
    readers: Readers,
    renewal: JoinSet<()>,
}

impl Secured {
    /// Starts with a certificate that the program makes for itself: metrics are served before the program has another.
    pub(super) async fn start(app: &App, client: &Client) -> Result<Self, StartError> {
        let service = app.authority().and_then(|authority| authority.service());
        let service = service.unwrap_or(app.name());
        let mut own = SelfSigned::for_service(service, client.default_namespace());
        let first = own.next().await.map_err(StartError::MetricsCertificate)?;
        let identity = LiveIdentity::of(first);
        let mut renewal = JoinSet::new();
        renewal.spawn(renew(own, identity.clone()));
        Ok(Self {
            identity,
            readers: Readers::new(client.clone()),
            renewal,
        })
    }

    pub(super) fn secure(&self, server: DiagnosticsServer) -> DiagnosticsServer {
        let readers = self.readers.clone();
        server
            .over_tls(self.identity.clone())
            .authorize(move |request| readers.clone().access(request))
    }

    /// Serves the certificates of another server of the program, which its clients know to trust.
    pub(super) fn follow(&mut self, identity: LiveIdentity) {
        self.renewal.abort_all();
        let served = self.identity.clone();
        self.renewal.spawn(async move {
            let each = |current| {
                served.replace(current);
                ControlFlow::Continue(())
            };
            identity.follow(each).await;
        });
    }
}

async fn renew(mut own: SelfSigned, identity: LiveIdentity) {
    loop {
        match own.next().await {
            Ok(next) => identity.replace(next),
            Err(error) => {
                tracing::warn!(%error, "no new certificate for the metrics; the last one stays in use");
                sleep(Duration::from_mins(1)).await;
            }
        }
    }
}
