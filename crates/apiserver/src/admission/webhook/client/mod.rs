//! The HTTPS client that calls webhooks, with the habits and the error texts of the real API server's (A.13).

mod certificate;
mod connect;
mod endpoint;
mod exchange;
mod fault;
mod pool;
mod reply;
mod services;
mod target;
mod trust;
mod witness;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::Instant;

use endpoint::Endpoint;
use target::Key;

use crate::admission::cluster::Cluster;

pub use certificate::{ClientCertificate, ClientCertificateError};
pub(crate) use reply::Reply;
pub use services::ServiceTable;
pub(crate) use target::{NoClient, Target};

/// How many endpoints keep their connections; the one unused for longest goes first.
const ENDPOINTS: usize = 30;

/// The clients of one server: one per URL or service and `caBundle`.
pub(crate) struct Client {
    services: ServiceTable,
    remote_hooks: bool,
    certificate: Option<ClientCertificate>,
    endpoints: Mutex<Vec<(Arc<Key>, Arc<Endpoint>)>>,
}

impl Client {
    pub(super) fn new(
        services: ServiceTable,
        remote_hooks: bool,
        certificate: Option<ClientCertificate>,
    ) -> Self {
        Self {
            services,
            remote_hooks,
            certificate,
            endpoints: Mutex::new(Vec::new()),
        }
    }

    pub(super) fn services(&self) -> &ServiceTable {
        &self.services
    }

    /// The client for a webhook. A changed `caBundle` makes a fresh one, with connections of its own.
    pub(crate) fn endpoint(&self, target: &Target) -> Result<Arc<Endpoint>, NoClient> {
        let key = target.key()?;
        let mut endpoints = self.endpoints.lock();
        if let Some(at) = endpoints.iter().position(|(known, _)| known == key) {
            let last = endpoints.len() - 1;
            endpoints[at..=last].rotate_left(1);
            return Ok(Arc::clone(&endpoints[last].1));
        }
        let endpoint = Arc::new(Endpoint::new(
            key,
            self.services.clone(),
            self.remote_hooks,
            self.certificate.as_ref(),
        )?);
        if endpoints.len() == ENDPOINTS {
            endpoints.remove(0);
        }
        endpoints.push((Arc::clone(key), Arc::clone(&endpoint)));
        Ok(endpoint)
    }
}

/// The client, and the cluster in which it finds services.
#[derive(Clone, Copy)]
pub(crate) struct Reach<'a> {
    pub(crate) client: &'a Client,
    pub(crate) cluster: &'a dyn Cluster,
}

impl Reach<'_> {
    /// Sends a review. The error is what Go's client says of the call.
    pub(crate) async fn post(
        self,
        endpoint: &Endpoint,
        body: Bytes,
        timeout: Duration,
    ) -> Result<Reply, String> {
        let deadline = Instant::now() + timeout;
        endpoint.post(self.cluster, body, deadline).await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("services", &self.services)
            .finish_non_exhaustive()
    }
}
