//! Metrics over HTTPS: the certificate that they are served with, and who may read them.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Client;
use kubewright_certificates::{CertificateSource, SelfSigned};
use kubewright_server::{DiagnosticsServer, LiveIdentity};
use tokio::task::JoinSet;
use tokio::time::{Duration, sleep};

use super::readers::Readers;
use crate::StartError;
use crate::inspection::{Inspect, Inspection};

/// What it takes to serve metrics over HTTPS to those who may read them.
pub(crate) struct Secured {
    identity: LiveIdentity,
    secure: Box<dyn Fn(DiagnosticsServer) -> DiagnosticsServer + Send + Sync>,
    inspect: fn(&str, Option<&str>) -> Arc<dyn Inspect>,
    renewal: JoinSet<()>,
}

/// How metrics come to be secured. The code is in no program whose metrics are open.
pub(crate) type Secure =
    for<'a> fn(&'a str, &'a Client) -> BoxFuture<'a, Result<Secured, StartError>>;

pub(crate) const SECURE: Secure = |service, client| Box::pin(Secured::start(service, client));

impl Secured {
    /// Starts with a certificate that the program makes for its Service itself: metrics are served before the program has another.
    async fn start(service: &str, client: &Client) -> Result<Self, StartError> {
        let mut own = SelfSigned::for_service(service, client.default_namespace());
        let first = own.next().await.map_err(StartError::MetricsCertificate)?;
        let identity = LiveIdentity::of(first);
        let mut renewal = JoinSet::new();
        renewal.spawn(renew(own, identity.clone()).boxed());
        let (served, readers) = (identity.clone(), Readers::new(client.clone()));
        Ok(Self {
            identity,
            secure: Box::new(move |server| {
                let readers = readers.clone();
                server
                    .over_tls(served.clone())
                    .authorize(move |request| readers.clone().access(request))
            }),
            inspect: |name, version| Arc::new(Inspection::new(name, version)),
            renewal,
        })
    }

    pub(super) fn secure(&self, server: DiagnosticsServer) -> DiagnosticsServer {
        (self.secure)(server)
    }

    /// The page about the inside of a program of this name and version, which the metrics' readers may look into.
    pub(super) fn inspect(&self, name: &str, version: Option<&str>) -> Arc<dyn Inspect> {
        (self.inspect)(name, version)
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

impl fmt::Debug for Secured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Secured").finish_non_exhaustive()
    }
}
