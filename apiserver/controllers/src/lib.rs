#![doc = include_str!("../README.md")]

mod accounts;
mod client;
mod clock;
mod collector;
mod graph;
mod namespaces;
mod object;
mod queue;
mod quotas;
mod recorder;
mod work;
mod workloads;

use tokio::sync::watch;

pub use client::Service;
pub use work::Server;
use work::{Context, Controller};
pub use workloads::Workloads;

/// Which controllers run beside an API server.
///
/// A kube-apiserver with etcd has none, and neither has an API server unless it is asked for them:
/// owners' objects are not collected, a deleted namespace stays `Terminating`, Deployments make no pods.
///
/// They see every change without asking for it, send their requests through admission under the names of the real ones
/// (`system:serviceaccount:kube-system:replicaset-controller`), and end with the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each controller is chosen by itself"
)]
pub struct Controllers {
    garbage_collection: bool,
    namespaces: bool,
    service_accounts: bool,
    quotas: bool,
    workloads: Option<Workloads>,
}

impl Controllers {
    /// None, as with an API server alone.
    pub fn none() -> Self {
        Self::default()
    }

    /// All there are.
    pub fn all() -> Self {
        Self::none()
            .garbage_collection()
            .namespaces()
            .service_accounts()
            .quotas()
            .workloads(Workloads::default())
    }

    /// Deletes what no owner keeps, in the background, in the foreground or not at all, as the delete of the owner asks.
    pub fn garbage_collection(mut self) -> Self {
        self.garbage_collection = true;
        self
    }

    /// Deletes what is in a namespace that is deleted, and then lets it go.
    pub fn namespaces(mut self) -> Self {
        self.namespaces = true;
        self
    }

    /// Gives every namespace a ServiceAccount `default` and a ConfigMap `kube-root-ca.crt`.
    pub fn service_accounts(mut self) -> Self {
        self.service_accounts = true;
        self
    }

    /// Counts what the objects of each namespace use of its ResourceQuotas. Without it, a quota is enforced by the status that a
    /// client gives it.
    pub fn quotas(mut self) -> Self {
        self.quotas = true;
        self
    }

    /// Makes pods of Deployments, ReplicaSets, ReplicationControllers, StatefulSets, DaemonSets and Jobs, and reports them as running.
    pub fn workloads(mut self, workloads: Workloads) -> Self {
        self.workloads = Some(workloads);
        self
    }

    fn chosen(&self) -> Vec<Box<dyn Controller>> {
        let mut chosen: Vec<Box<dyn Controller>> = Vec::new();
        if self.garbage_collection {
            chosen.push(Box::new(collector::Collector::default()));
        }
        if self.namespaces {
            chosen.push(Box::new(namespaces::Namespaces::default()));
        }
        if self.service_accounts {
            chosen.push(Box::new(accounts::Accounts));
        }
        if self.quotas {
            chosen.push(Box::new(quotas::Quotas));
        }
        if let Some(simulated) = &self.workloads {
            chosen.push(Box::new(workloads::deployments::Deployments));
            chosen.push(Box::new(workloads::replica_sets::ReplicaSets::of_apps()));
            chosen.push(Box::new(
                workloads::replica_sets::ReplicaSets::replication_controllers(),
            ));
            chosen.push(Box::new(workloads::stateful_sets::StatefulSets));
            chosen.push(Box::new(workloads::daemon_sets::DaemonSets));
            chosen.push(Box::new(workloads::jobs::Jobs));
            chosen.push(Box::new(workloads::scheduler::Scheduler::default()));
            chosen.push(Box::new(workloads::kubelet::Kubelet::new(
                simulated.clone(),
            )));
        }
        chosen
    }

    /// Starts them beside an API server; they end when it is stopped or gone.
    ///
    /// # Panics
    /// There is no tokio runtime.
    pub fn start(self, server: Server, stopped: watch::Receiver<bool>) {
        let controllers = self.chosen();
        let cx = Context::new(server, controllers);
        tokio::spawn(work::run(cx, stopped));
    }

    /// Whether there is none to start.
    pub fn is_empty(&self) -> bool {
        *self == Self::none()
    }
}
