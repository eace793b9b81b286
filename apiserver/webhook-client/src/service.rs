//! Connections to the port of a Service, for requests that the API server forwards.

use std::fmt;
use std::sync::Arc;

use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncWrite};

use super::certificate::ClientCertificate;
use super::connect::Place;
use super::services::Found;
use super::{Reach, trust};

/// The port of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what names a port of a Service")]
pub struct ServicePort {
    /// The namespace of the Service.
    pub namespace: String,
    /// The name of the Service.
    pub name: String,
    /// The port of the Service, not of its endpoints.
    pub port: u16,
}

/// Whom connections to a Service trust, and the certificate that they show.
#[derive(Clone)]
pub struct ServiceTls(Arc<ClientConfig>);

/// An open connection to a Service.
pub type ServiceStream = Box<dyn Stream>;

/// A connection.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Where a Service is, as far as it is known before a connection is made.
#[derive(Clone, Debug)]
pub struct Located {
    place: Place,
}

impl ServicePort {
    /// The name that the certificate of the Service must have.
    pub fn server_name(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }
}

impl ServiceTls {
    /// Trusts the authorities of a PEM bundle; an empty one trusts what the system trusts.
    ///
    /// # Errors
    /// The bundle cannot be read; the text is Go's.
    pub fn trusting(ca_bundle: &[u8], certificate: &ClientCertificate) -> Result<Self, String> {
        let config = trust::client_config(ca_bundle, false, Some(certificate))?;
        Ok(Self(Arc::new(config)))
    }

    /// Trusts any certificate.
    pub fn insecure(certificate: &ClientCertificate) -> Self {
        Self(Arc::new(trust::trusting_any(certificate)))
    }
}

impl Located {
    /// The host and the port that are connected to.
    pub fn authority(&self) -> String {
        let Place {
            host,
            port,
            address,
            ..
        } = &self.place;
        match address {
            Some(address) => address.to_string(),
            None if host.contains(':') => format!("[{host}]:{port}"),
            None => format!("{host}:{port}"),
        }
    }
}

impl Reach<'_> {
    /// Finds a Service, as it is found for webhooks.
    ///
    /// # Errors
    /// There is no such Service, or it does not have the port; the text is that of a real API server.
    pub fn locate(&self, service: &ServicePort) -> Result<Located, String> {
        let ServicePort {
            namespace,
            name,
            port,
        } = service;
        let client = self.client;
        let (cluster, remote) = (self.cluster, client.remote_hooks);
        let found = client
            .services
            .find(cluster, namespace, name, *port, remote)?;
        let (host, address) = match found {
            Found::Address(address) => (address.ip().to_string(), Some(address)),
            Found::Host(host) => (host, None),
        };
        Ok(Located {
            place: Place {
                host,
                port: *port,
                address,
                server_name: service.server_name(),
            },
        })
    }

    /// Connects to a Service that was found.
    ///
    /// # Errors
    /// Nothing listens there, or the handshake fails; the text is Go's.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    pub async fn connect(
        &self,
        located: &Located,
        tls: &ServiceTls,
    ) -> Result<ServiceStream, String> {
        let connected = located.place.connect(&tls.0, self.client.remote_hooks);
        Ok(Box::new(connected.await?.stream))
    }
}

impl fmt::Debug for ServiceTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceTls").finish_non_exhaustive()
    }
}
