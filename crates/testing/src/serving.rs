//! The programs under test, served over HTTPS as they are in a cluster.

use std::fmt::{self, Display};
use std::net::{IpAddr, SocketAddr};

use kubewright_certificates::SelfSigned;
use kubewright_manager::Program;
use kubewright_manifests::{Endpoint, Manifests};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::fail;

/// A program behind a socket of its own. It stops when this is dropped.
pub(crate) struct Serving {
    name: String,
    conditions: Conditions,
    manifests: Option<Manifests>,
    task: JoinHandle<()>,
}

/// What a program waits for, by name, and whether it has come.
type Conditions = Box<dyn Fn() -> Vec<(String, bool)> + Send + Sync>;

impl Serving {
    /// Serves on a free port of an address, with a certificate made on the spot.
    pub(crate) async fn start(program: Program, address: IpAddr) -> Self {
        let name = program.app().name().to_owned();
        if !program.app().has_webhooks() {
            let started = program.start().await;
            let started = started.unwrap_or_else(|error| cannot("be started", &error));
            let readiness = started.readiness();
            let task = tokio::spawn(async move { started.run(std::future::pending()).await });
            return Self {
                name,
                conditions: Box::new(move || readiness.conditions()),
                manifests: None,
                task,
            };
        }
        let certificates = SelfSigned::for_names([address.to_string()]);
        let address = SocketAddr::from((address, 0));
        let bound = program.bind(address, certificates).await;
        let serving = bound.unwrap_or_else(|error| cannot("be served", &error));
        let url = format!("https://{}", serving.local_addr());
        let endpoint = Endpoint::url(&url).unwrap_or_else(|error| cannot("be reached", &error));
        let manifests = serving
            .manifests(endpoint)
            .unwrap_or_else(|error| cannot("be declared", &error));
        let readiness = serving.readiness();
        let task = tokio::spawn(async move {
            // It runs until it is aborted, so no call can outlive a drain.
            let _ = serving.run(std::future::pending()).await;
        });
        Self {
            name,
            conditions: Box::new(move || readiness.conditions()),
            manifests: Some(manifests),
            task,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether its caches are complete. What else it may wait for, such as a check of its own, is not for a test cluster
    /// to wait for.
    pub(crate) fn knows_its_objects(&self) -> bool {
        let conditions = (self.conditions)();
        conditions
            .iter()
            .all(|(name, holds)| *holds || name != "caches")
    }

    /// The webhook configurations that lead here.
    pub(crate) fn configurations(&self) -> &[Value] {
        self.manifests.as_ref().map_or(&[], Manifests::objects)
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving")
            .field("name", &self.name)
            .field("conditions", &(self.conditions)())
            .finish_non_exhaustive()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn cannot(what: &str, error: &dyn Display) -> ! {
    fail(format_args!(
        "the program under test cannot {what}: {error}"
    ))
}
