//! The pods that run, as the controllers start them and the API server reaches them.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::handlers::PodHandlers;
use crate::images::Images;
use crate::network::Network;
use crate::objects::Objects;
use crate::pod::Pod;
use crate::simulator::Simulator;

/// The pods whose containers have programs. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Pods(Arc<Running>);

#[derive(Debug, Default)]
struct Running {
    pods: Mutex<HashMap<String, Arc<Pod>>>,
    network: Network,
    handlers: PodHandlers,
    simulator: Mutex<Option<Arc<dyn Simulator>>>,
}

impl Pods {
    /// The pod of a UID.
    pub fn get(&self, uid: &str) -> Option<Arc<Pod>> {
        self.0.pods.lock().get(uid).cloned()
    }

    /// What answers `exec`, `attach` and `portforward`.
    pub fn handlers(&self) -> &PodHandlers {
        &self.0.handlers
    }

    /// What says what commands do in simulated containers, if there are any.
    pub fn simulator(&self) -> Option<Arc<dyn Simulator>> {
        self.0.simulator.lock().clone()
    }

    /// Asks this one what commands do in simulated containers.
    pub fn simulate(&self, simulator: Arc<dyn Simulator>) {
        *self.0.simulator.lock() = Some(simulator);
    }

    /// Where the program of the pod with this address listens.
    pub fn dial(&self, address: IpAddr, port: u16) -> Option<SocketAddr> {
        let pods = self.0.pods.lock();
        let pod = pods.values().find(|pod| pod.address() == address)?;
        Some((pod.listens_on(), port).into())
    }

    /// Starts a pod with an address, unless it has been started already. `changed` is called after each change of its
    /// containers.
    ///
    /// # Panics
    /// There is no tokio runtime.
    pub fn start(
        &self,
        object: &Value,
        address: IpAddr,
        images: &Images,
        objects: Arc<dyn Objects>,
        changed: impl Fn() + Send + Sync + 'static,
    ) -> Arc<Pod> {
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        let mut pods = self.0.pods.lock();
        if let Some(pod) = pods.get(uid) {
            return pod.clone();
        }
        let listens_on = self.0.network.address();
        let pod = Pod::start(object, address, listens_on, images, objects, changed);
        pods.insert(uid.to_owned(), pod.clone());
        pod
    }

    /// Kills what still runs of a pod, and forgets it.
    pub fn remove(&self, uid: &str) {
        if let Some(pod) = self.0.pods.lock().remove(uid) {
            pod.kill();
        }
    }

    /// Kills all pods, and simulates no more.
    pub fn clear(&self) {
        self.0.simulator.lock().take();
        for (_, pod) in self.0.pods.lock().drain() {
            pod.kill();
        }
    }
}
