//! Where services are: there is no cluster network, so that a table says it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::RwLock;

/// The addresses behind services, by namespace, name and port. Clones share one table.
#[derive(Clone, Debug, Default)]
pub struct ServiceTable(Arc<RwLock<Addresses>>);

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
}
