//! Where services are: there is no cluster network, so that a table says it, or else the service itself.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use kubewright_apimachinery::go_text::quoted;
use parking_lot::RwLock;
use serde_json::Value;

/// Finds the services of a cluster.
pub trait Services: Send + Sync {
    /// The Service of a name, if there is one.
    fn service(&self, namespace: &str, name: &str) -> Option<Arc<Value>>;
}

/// The addresses behind services, by namespace, name and port. Clones share one table.
#[derive(Clone, Debug, Default)]
pub struct ServiceTable(Arc<RwLock<Addresses>>);

/// Where a service is found.
#[derive(Debug)]
pub(super) enum Found {
    Address(SocketAddr),
    /// A name or an address, on the port that was asked for.
    Host(String),
}

/// By namespace, name and port.
type Addresses = HashMap<(String, String, u16), SocketAddr>;

impl ServiceTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says where the service's port is; connections made from now on go there.
    pub fn set(&self, namespace: &str, name: &str, port: u16, address: SocketAddr) {
        self.0
            .write()
            .insert((namespace.to_owned(), name.to_owned(), port), address);
    }

    /// Forgets the service's port.
    pub fn remove(&self, namespace: &str, name: &str, port: u16) {
        self.0
            .write()
            .remove(&(namespace.to_owned(), name.to_owned(), port));
    }

    /// Where the service's port is.
    pub fn address(&self, namespace: &str, name: &str, port: u16) -> Option<SocketAddr> {
        self.0
            .read()
            .get(&(namespace.to_owned(), name.to_owned(), port))
            .copied()
    }

    /// The address in the table, else what the service in the cluster says. The error is the real server's text.
    pub(super) fn find(
        &self,
        cluster: &dyn Services,
        namespace: &str,
        name: &str,
        port: u16,
    ) -> Result<Found, String> {
        if let Some(address) = self.address(namespace, name, port) {
            return Ok(Found::Address(address));
        }
        let service = cluster.service(namespace, name);
        let service = service.ok_or_else(|| format!("service {} not found", quoted(name)))?;
        let spec = &service["spec"];
        let text = |field: &str| spec[field].as_str().unwrap_or_default();
        if text("type") == "ExternalName" {
            return Ok(Found::Host(text("externalName").to_owned()));
        }
        if text("clusterIP") == "None" {
            return Err("cannot route to service with ClusterIP \"None\"".to_owned());
        }
        let mut ports = spec["ports"].as_array().into_iter().flatten();
        if !ports.any(|known| known["port"] == port) {
            let name = quoted(name);
            return Err(format!("no service port {port} found for service {name}"));
        }
        Ok(Found::Host(text("clusterIP").to_owned()))
    }
}
