//! What all handlers of one server share: where objects are, and who decides about them.

use std::sync::Arc;

use kubewright_admission::Chain;
use kubewright_apiextensions::definitions::Definitions;
use kubewright_auth::Access;
use kubewright_kubelet::Pods;
use kubewright_registry::Served;
use kubewright_registry::services::Pool;
use kubewright_storage::Store;
use kubewright_webhook_client::Reach;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::aggregation::Aggregator;
use crate::audit::Audit;
use crate::cluster::StoredCluster;
use crate::metrics::Metrics;
use crate::openapi::Swagger;
use crate::rest::flow_control::FlowControl;

/// What the handlers of one server share.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "the composition root makes it")]
pub struct Shared {
    /// Where the objects are.
    pub store: Arc<Store>,
    /// The resources that are served.
    pub served: Arc<Served>,
    /// The controllers of CustomResourceDefinitions.
    pub definitions: Arc<Definitions>,
    /// Admission.
    pub chain: Chain,
    /// What admission reads.
    pub cluster: StoredCluster,
    /// The pods whose containers run.
    pub pods: Pods,
    /// The addresses of services.
    pub addresses: Mutex<Pool>,
    /// Authentication and authorization.
    pub access: Access,
    /// The aggregated API servers.
    pub aggregator: Aggregator,
    /// The audit log, if there is one.
    pub audit: Option<Audit>,
    /// The flows that requests belong to.
    pub flow_control: FlowControl,
    /// What is counted for `/metrics`.
    pub metrics: Arc<Metrics>,
    /// The document of OpenAPI v2.
    pub swagger: Swagger,
    /// Becomes true when the watches of in-process clients and the controllers end.
    pub stopped: watch::Sender<bool>,
}

impl Shared {
    /// How webhooks are reached that convert.
    pub(crate) fn reach(&self) -> Reach<'_> {
        self.chain.reach(&self.cluster)
    }
}
