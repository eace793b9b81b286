#![doc = include_str!("../README.md")]

mod accounts;
mod aggregated;
mod autoscalers;
mod certificates;
mod client;
mod clock;
mod cluster_roles;
mod collector;
mod disruption;
mod endpoints;
mod graph;
mod namespaces;
mod object;
mod queue;
mod quotas;
mod recorder;
mod type_checking;
mod volumes;
mod work;
mod workloads;

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

pub use client::Service;
pub use kubewright_kubelet::{Container, Pods, Program};
pub use work::{Authority, Requested, Server};
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
    reason = "each controller runs or does not"
)]
pub struct Controllers {
    garbage_collection: bool,
    namespaces: bool,
    service_accounts: bool,
    quotas: bool,
    endpoints: bool,
    certificates: bool,
    cluster_roles: bool,
    disruption_budgets: bool,
    type_checking: bool,
    autoscalers: bool,
    volumes: bool,
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
            .endpoints()
            .certificates()
            .cluster_roles()
            .disruption_budgets()
            .type_checking()
            .autoscalers()
            .volumes()
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

    /// Gives every Service the Endpoints and EndpointSlices of the pods that it selects, and mirrors Endpoints that are written by
    /// hand into EndpointSlices.
    pub fn endpoints(mut self) -> Self {
        self.endpoints = true;
        self
    }

    /// Approves requests of kubelets that may make them, and signs approved requests to the signers of Kubernetes with the server's
    /// authority.
    pub fn certificates(mut self) -> Self {
        self.certificates = true;
        self
    }

    /// Gives ClusterRoles with an aggregation rule the rules of the roles that they select.
    pub fn cluster_roles(mut self) -> Self {
        self.cluster_roles = true;
        self
    }

    /// Writes into each PodDisruptionBudget how many of its pods may be evicted.
    pub fn disruption_budgets(mut self) -> Self {
        self.disruption_budgets = true;
        self
    }

    /// Checks the expressions of ValidatingAdmissionPolicies against the schemas of the kinds that they match, and writes warnings
    /// into `status.typeChecking`.
    pub fn type_checking(mut self) -> Self {
        self.type_checking = true;
        self
    }

    /// Scales the targets of HorizontalPodAutoscalers, every fifteen seconds of tokio's clock.
    ///
    /// Metrics are annotations: `metrics.kubewright.dev/NAME` of an object is the value of the metric `NAME` for it. Of a pod, `cpu` and
    /// `memory` are the usage of its first container, or of several (`web=200m,log=50m`), and all others are metrics of type `Pods`. Of
    /// any object, they are metrics of type `Object`; of a Namespace, also those of type `External`. The series of metrics with a
    /// selector have labels: `30{queue=mail} 12{queue=web}`.
    pub fn autoscalers(mut self) -> Self {
        self.autoscalers = true;
        self
    }

    /// Binds PersistentVolumeClaims to PersistentVolumes, makes volumes for storage classes of the provisioner
    /// `simulated.kubewright.dev`, and lets claims and volumes go that are deleted and no longer used.
    pub fn volumes(mut self) -> Self {
        self.volumes = true;
        self
    }

    /// Makes pods of Deployments, ReplicaSets, ReplicationControllers, StatefulSets, DaemonSets and Jobs, and reports them as running.
    pub fn workloads(mut self, workloads: Workloads) -> Self {
        self.workloads = Some(workloads);
        self
    }

    fn chosen(&self, pods: &Pods) -> Vec<Box<dyn Controller>> {
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
        if self.endpoints {
            chosen.push(Box::new(endpoints::Endpoints::default()));
            chosen.push(Box::new(endpoints::EndpointSlices::default()));
            chosen.push(Box::new(endpoints::Mirroring));
        }
        if self.certificates {
            chosen.push(Box::new(certificates::Certificates));
        }
        if self.cluster_roles {
            chosen.push(Box::new(cluster_roles::ClusterRoles::default()));
        }
        if self.disruption_budgets {
            chosen.push(Box::new(disruption::Disruption));
        }
        if self.type_checking {
            chosen.push(Box::new(type_checking::TypeChecking));
        }
        if self.autoscalers {
            chosen.push(Box::new(autoscalers::Autoscalers::default()));
        }
        if self.volumes {
            chosen.push(Box::new(volumes::Volumes::default()));
        }
        if let Some(simulated) = &self.workloads {
            let cluster = Arc::<Mutex<workloads::scheduler::Cluster>>::default();
            chosen.push(Box::new(workloads::deployments::Deployments));
            chosen.push(Box::new(workloads::replica_sets::ReplicaSets::of_apps()));
            chosen.push(Box::new(
                workloads::replica_sets::ReplicaSets::replication_controllers(),
            ));
            chosen.push(Box::new(workloads::stateful_sets::StatefulSets));
            chosen.push(Box::new(workloads::daemon_sets::DaemonSets));
            chosen.push(Box::new(workloads::jobs::Jobs::default()));
            chosen.push(Box::new(workloads::cron_jobs::CronJobs));
            chosen.push(Box::new(workloads::node_lifecycle::NodeLifecycle));
            chosen.push(Box::new(workloads::pod_gc::PodGarbageCollector::default()));
            chosen.push(Box::new(workloads::taint_eviction::TaintEviction::default()));
            chosen.push(Box::new(workloads::scheduler::Scheduler::new(
                cluster.clone(),
            )));
            chosen.push(Box::new(workloads::kubelet::Kubelet::new(
                simulated.clone(),
                pods.clone(),
                cluster,
            )));
        }
        chosen
    }

    /// Starts them beside an API server; they end when it is stopped or gone.
    ///
    /// # Panics
    /// There is no tokio runtime.
    pub fn start(self, server: Server, stopped: watch::Receiver<bool>) {
        let controllers = self.chosen(&server.pods);
        let (cx, woken) = Context::new(server, controllers);
        tokio::spawn(work::run(cx, woken, stopped));
    }

    /// Whether there is none to start.
    pub fn is_empty(&self) -> bool {
        *self == Self::none()
    }
}
