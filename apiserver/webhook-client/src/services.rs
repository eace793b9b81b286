//! Where services are: there is no cluster network, so that a table says it, or else the endpoints of the service.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use kubewright_apimachinery::go_text::quoted;
use parking_lot::RwLock;
use serde_json::Value;
use tokio::sync::watch;

/// Finds the services of a cluster.
pub trait Services: Send + Sync {
    /// The Service of a name, if there is one.
    fn service(&self, namespace: &str, name: &str) -> Option<Arc<Value>>;

    /// Where the ready endpoints of a port of a Service are.
    fn endpoints(&self, service: &Value, port: u16) -> Vec<SocketAddr>;
}

/// The addresses behind services, by namespace, name and port. Clones share one table.
#[derive(Clone, Debug, Default)]
pub struct ServiceTable(Arc<Table>);

#[derive(Debug, Default)]
struct Table {
    addresses: RwLock<Addresses>,
    changed: watch::Sender<()>,
}

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
        let mut addresses = self.0.addresses.write();
        addresses.insert((namespace.to_owned(), name.to_owned(), port), address);
        self.0.changed.send_replace(());
    }

    /// Forgets the service's port.
    pub fn remove(&self, namespace: &str, name: &str, port: u16) {
        let mut addresses = self.0.addresses.write();
        addresses.remove(&(namespace.to_owned(), name.to_owned(), port));
        self.0.changed.send_replace(());
    }

    /// Where the service's port is.
    pub fn address(&self, namespace: &str, name: &str, port: u16) -> Option<SocketAddr> {
        let addresses = self.0.addresses.read();
        addresses
            .get(&(namespace.to_owned(), name.to_owned(), port))
            .copied()
    }

    /// Returns a receiver that sees every change of the table.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// The address in the table, else an endpoint of the service that may be called, else what the service itself says. The
    /// error is the real server's text.
    pub(super) fn find(
        &self,
        cluster: &dyn Services,
        namespace: &str,
        name: &str,
        port: u16,
        remote: bool,
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
        let mut endpoints = cluster.endpoints(&service, port).into_iter();
        let near = endpoints.find(|endpoint| remote || endpoint.ip().is_loopback());
        Ok(match near {
            Some(endpoint) => Found::Address(endpoint),
            None => Found::Host(text("clusterIP").to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A Service with these endpoints.
    struct One(Vec<SocketAddr>);

    impl Services for One {
        fn service(&self, _: &str, _: &str) -> Option<Arc<Value>> {
            let ports = json!([{"port": 443}]);
            Some(Arc::new(
                json!({"spec": {"clusterIP": "10.0.0.9", "ports": ports}}),
            ))
        }

        fn endpoints(&self, _: &Value, _: u16) -> Vec<SocketAddr> {
            self.0.clone()
        }
    }

    #[test]
    fn a_service_is_found_at_the_first_endpoint_that_may_be_called() {
        let far = SocketAddr::from(([10, 1, 2, 3], 8443));
        let near = SocketAddr::from(([127, 1, 2, 3], 8443));
        let find = |endpoints: &[SocketAddr], remote| {
            let cluster = One(endpoints.to_vec());
            let found = ServiceTable::new().find(&cluster, "a", "b", 443, remote);
            match found.expect("a service") {
                Found::Address(address) => address.to_string(),
                Found::Host(host) => host,
            }
        };
        assert_eq!(find(&[far, near], false), near.to_string());
        assert_eq!(find(&[far, near], true), far.to_string());
        assert_eq!(find(&[far], false), "10.0.0.9");
    }
}
