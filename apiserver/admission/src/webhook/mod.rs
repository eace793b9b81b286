//! The webhook plugins: which hooks a request is sent to, what they are sent, and what their answers do.

mod annotations;
mod answer;
mod call;
mod configuration;
mod denial;
mod meter;
mod mutating;
mod observe;
mod patch;
mod review;
mod reviews;
mod select;
mod validating;

use std::fmt;
use std::sync::Arc;

use kubewright_apimachinery::status::Result;
use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_validation::is_review;
use kubewright_webhook_client::{Client, Reach, ServiceTable};

use super::attributes::Attributes;
use super::cluster::Cluster;
use super::forms::Forms;
use super::notes::Notes;
use super::observer::Observer;
use super::reinvocation::Reinvocation;

pub use meter::{Ended, Measured, Meter};
pub use reviews::DetachedWebhooks;

use configuration::Configurations;

/// Both webhook plugins.
pub(super) struct Webhooks {
    mutating: Configurations,
    validating: Configurations,
    client: Client,
    observer: Option<Arc<dyn Observer>>,
    meter: Option<Arc<dyn Meter>>,
}

impl Webhooks {
    pub(super) fn new(
        client: Client,
        observer: Option<Arc<dyn Observer>>,
        meter: Option<Arc<dyn Meter>>,
    ) -> Self {
        Self {
            mutating: Configurations::new("mutatingwebhookconfigurations"),
            validating: Configurations::new("validatingwebhookconfigurations"),
            client,
            observer,
            meter,
        }
    }

    /// Whether an observer sees the objects of every call.
    pub(super) fn are_observed(&self) -> bool {
        self.observer.is_some()
    }

    pub(super) fn services(&self) -> &ServiceTable {
        self.client.services()
    }

    /// How webhooks of a cluster are reached.
    pub(super) fn reach<'a>(&'a self, cluster: &'a dyn Cluster) -> Reach<'a> {
        Reach {
            client: &self.client,
            cluster,
        }
    }

    pub(super) async fn mutate(
        &self,
        cluster: &dyn Cluster,
        attributes: &mut Attributes,
        notes: &Notes,
        reinvocation: &mut Reinvocation,
    ) -> Result<()> {
        if is_exempt(attributes, cluster) {
            return Ok(());
        }
        let hooks = self.mutating.current(cluster);
        reinvocation.webhooks.begin(&attributes.object);
        let dispatch = mutating::Dispatch {
            reach: self.reach(cluster),
            observer: self.observer.as_deref(),
            meter: self.meter.as_deref(),
            cluster,
            attributes: &mut *attributes,
            notes,
            reinvocation: &mut *reinvocation,
            forms: Forms::default(),
        };
        let result = dispatch.run(&hooks).await;
        let wanted = reinvocation.is_wanted();
        reinvocation.webhooks.end(&attributes.object, wanted);
        result
    }

    pub(super) async fn validate(
        &self,
        cluster: &dyn Cluster,
        attributes: &Attributes,
        notes: &Notes,
    ) -> Result<()> {
        if is_exempt(attributes, cluster) {
            return Ok(());
        }
        let hooks = self.validating.current(cluster);
        let dispatch = validating::Dispatch {
            reach: self.reach(cluster),
            observer: self.observer.as_deref(),
            meter: self.meter.as_deref(),
            cluster,
            attributes,
            notes,
        };
        dispatch.run(&hooks).await
    }
}

/// Configuration that could lock itself in is never sent to a webhook (A.3), and since 1.37 no review is.
fn is_exempt(attributes: &Attributes, cluster: &dyn Cluster) -> bool {
    let (group, plural) = (&attributes.resource.group, &attributes.resource.plural);
    let is_configuration = group == "admissionregistration.k8s.io"
        && matches!(
            plural.as_str(),
            "validatingwebhookconfigurations"
                | "mutatingwebhookconfigurations"
                | "validatingadmissionpolicies"
                | "validatingadmissionpolicybindings"
                | "mutatingadmissionpolicies"
                | "mutatingadmissionpolicybindings"
        );
    let excludes_reviews = || cluster.registry().version() >= KubernetesVersion::V1_37;
    is_configuration || (is_review(group, plural) && excludes_reviews())
}

impl fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhooks")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}
