#![doc = include_str!("../README.md")]

mod certificate;
mod connect;
mod endpoint;
mod envelope;
mod error;
mod exchange;
mod fault;
mod pool;
mod reply;
mod service;
mod services;
mod shape;
mod target;
mod trust;
mod version;
mod witness;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::Instant;

use target::Key;

pub use certificate::{ClientCertificate, ClientCertificateError};
pub use endpoint::Endpoint;
pub use envelope::{Envelope, Opened, read_json};
pub use error::CallError;
pub use reply::Reply;
pub use service::{Located, ServicePort, ServiceStream, ServiceTls, Stream};
pub use services::{ServiceTable, Services};
pub use shape::{ADMISSION, CONVERSION, Struct, go_word};
pub use target::{NoClient, Target, calling};
pub use version::ReviewVersion;

/// How many endpoints keep their connections; the one unused for longest goes first.
const ENDPOINTS: usize = 30;

/// The clients of one server: one per URL or service and `caBundle`.
pub struct Client {
    services: ServiceTable,
    remote_hooks: bool,
    certificate: Option<ClientCertificate>,
    endpoints: Mutex<Vec<(Arc<Key>, Arc<Endpoint>)>>,
}

impl Client {
    /// Creates a client that finds services in `services`, calls hosts outside loopback if `remote_hooks`, and shows
    /// `certificate` to admission webhooks.
    pub fn new(
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

    /// The addresses of services.
    pub fn services(&self) -> &ServiceTable {
        &self.services
    }

    /// Returns the client for a webhook. A changed `caBundle` makes a fresh one, with connections of its own.
    ///
    /// # Errors
    /// The `clientConfig` is of no use, or its `caBundle` cannot be read.
    pub fn endpoint(&self, target: &Target) -> Result<Arc<Endpoint>, NoClient> {
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
#[expect(clippy::exhaustive_structs, reason = "the two are the whole idea")]
pub struct Reach<'a> {
    /// The client.
    pub client: &'a Client,
    /// The cluster.
    pub cluster: &'a dyn Services,
}

impl Reach<'_> {
    /// Sends a review.
    ///
    /// # Errors
    /// What Go's client says of the call.
    ///
    /// # Cancel safety
    /// Dropping the future ends the call.
    pub async fn post(
        self,
        endpoint: &Endpoint,
        body: Bytes,
        timeout: Duration,
    ) -> Result<Reply, CallError> {
        let deadline = Instant::now() + timeout;
        endpoint.post(self.cluster, body, deadline).await
    }
}

impl fmt::Debug for Reach<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reach")
            .field("client", self.client)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("services", &self.services)
            .finish_non_exhaustive()
    }
}
