//! The order of the admission steps.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use kubewright_apimachinery::status::Result;
use kubewright_pod_security::Configuration;
use kubewright_webhook_client::{Client, ClientCertificate, Reach, ServiceTable};

use super::attributes::Attributes;
use super::cluster::Cluster;
use super::notes::Notes;
use super::observer::Observer;
use super::plugins::{AdmissionPlugin, Enabled, Plugins};
use super::policy::{ExpressionCoverage, Policies};
use super::reinvocation::Reinvocation;
use super::webhook::{DetachedWebhooks, Meter, Webhooks};

/// The admission chain of one server.
#[derive(Debug)]
pub struct Chain {
    plugins: Plugins,
    policies: Policies,
    webhooks: Webhooks,
}

/// What can be set about a [`Chain`].
#[derive(Default)]
pub struct ChainBuilder {
    plugins: Enabled,
    pod_security: Configuration,
    observer: Option<Arc<dyn Observer>>,
    meter: Option<Arc<dyn Meter>>,
    services: ServiceTable,
    remote_hooks: bool,
    client_certificate: Option<ClientCertificate>,
    policy_coverage: bool,
}

impl Chain {
    /// A chain without an observer, without services, that calls webhooks on loopback addresses only.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A chain with settings of its own.
    pub fn builder() -> ChainBuilder {
        ChainBuilder::default()
    }

    /// The addresses of services; what is set there is seen by the next call.
    pub fn services(&self) -> &ServiceTable {
        self.webhooks.services()
    }

    /// How webhooks are reached that are asked for something else than admission.
    pub fn reach<'a>(&'a self, cluster: &'a dyn Cluster) -> Reach<'a> {
        self.webhooks.reach(cluster)
    }

    /// The expressions of the policies as of the last request, and the values that their conditions have had: none, unless
    /// [asked for](ChainBuilder::policy_coverage).
    pub fn policy_coverage(&self) -> Vec<ExpressionCoverage> {
        self.policies.coverage()
    }

    /// Lets every mutating step change the object, and once more where a late change asks for it.
    ///
    /// # Errors
    /// The Status that the client gets: a denial, a webhook that failed, a patch that does not apply.
    ///
    /// # Cancel safety
    /// Dropping the future ends the webhook call in flight; `attributes` may hold a part of the changes.
    pub async fn mutate(
        &self,
        cluster: &dyn Cluster,
        attributes: &mut Attributes,
        notes: &Notes,
    ) -> Result<()> {
        if self.webhooks.are_observed() {
            attributes.include_managed_fields();
        }
        let mut reinvocation = Reinvocation::default();
        self.mutate_round(cluster, attributes, notes, &mut reinvocation)
            .await?;
        if reinvocation.begin_second_round() {
            self.mutate_round(cluster, attributes, notes, &mut reinvocation)
                .await?;
        }
        Ok(())
    }

    /// Lets every validating step judge the object as it is about to be stored.
    ///
    /// `attributes.name` is the final name by now, also for an object that came with `generateName`.
    ///
    /// # Errors
    /// The Status that the client gets; of several denials, the first to arrive.
    ///
    /// # Cancel safety
    /// Dropping the future ends the webhook calls in flight.
    pub async fn validate(
        &self,
        cluster: &dyn Cluster,
        attributes: &Attributes,
        notes: &Notes,
    ) -> Result<()> {
        self.plugins.validate(cluster, attributes, notes)?;
        if self.plugins.has(AdmissionPlugin::ValidatingAdmissionPolicy) {
            let reach = self.webhooks.reach(cluster);
            self.policies
                .validate(reach, cluster, attributes, notes)
                .await?;
        }
        if self
            .plugins
            .has(AdmissionPlugin::ValidatingAdmissionWebhook)
        {
            self.webhooks.validate(cluster, attributes, notes).await?;
        }
        self.plugins.charge(cluster, attributes)
    }

    /// Returns the AdmissionReview that each of these webhooks would be sent for the request, by the name of the webhook, without
    /// calling them: rules, selectors and match conditions select the webhooks, and objects are converted to the version of the rules. An
    /// error is the Status that the client would get because the review cannot be made.
    ///
    /// # Cancel safety
    /// Dropping the future ends a call of a conversion webhook in flight.
    pub async fn reviews(
        &self,
        webhooks: &DetachedWebhooks,
        cluster: &dyn Cluster,
        attributes: &Attributes,
    ) -> Vec<(String, Result<Bytes>)> {
        webhooks
            .reviews(self.webhooks.reach(cluster), cluster, attributes)
            .await
    }

    async fn mutate_round(
        &self,
        cluster: &dyn Cluster,
        attributes: &mut Attributes,
        notes: &Notes,
        reinvocation: &mut Reinvocation,
    ) -> Result<()> {
        self.plugins.mutate(cluster, attributes).await?;
        if self.plugins.has(AdmissionPlugin::MutatingAdmissionPolicy) {
            let reach = self.webhooks.reach(cluster);
            self.policies
                .mutate(reach, cluster, attributes, &mut reinvocation.policies)
                .await?;
        }
        if self.plugins.has(AdmissionPlugin::MutatingAdmissionWebhook) {
            self.webhooks
                .mutate(cluster, attributes, notes, reinvocation)
                .await?;
        }
        Ok(())
    }
}

impl Default for Chain {
    fn default() -> Self {
        Self::new()
    }
}

impl ChainBuilder {
    /// Runs these plugins.
    #[must_use]
    pub fn plugins(mut self, plugins: Enabled) -> Self {
        self.plugins = plugins;
        self
    }

    /// Gives PodSecurity defaults for namespaces without labels, and exemptions: the `PodSecurityConfiguration` of a real API
    /// server's admission configuration.
    ///
    /// # Example: pods of a namespace that are not checked
    ///
    /// ```
    /// use kubewright_admission::Chain;
    /// use kubewright_admission::pod_security::{Configuration, Exemptions};
    ///
    /// let exemptions = Exemptions {
    ///     namespaces: vec!["kube-system".to_owned()],
    ///     ..Exemptions::default()
    /// };
    /// let configuration = Configuration {
    ///     exemptions,
    ///     ..Configuration::default()
    /// };
    /// let chain = Chain::builder().pod_security(configuration).build();
    /// ```
    #[must_use]
    pub fn pod_security(mut self, configuration: Configuration) -> Self {
        self.pod_security = configuration;
        self
    }

    /// Shows every webhook call to `observer`.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Has every webhook call measured by `meter`.
    #[must_use]
    pub fn meter(mut self, meter: Arc<dyn Meter>) -> Self {
        self.meter = Some(meter);
        self
    }

    /// Finds services in `services`; the caller keeps a clone and adds to it.
    #[must_use]
    pub fn services(mut self, services: ServiceTable) -> Self {
        self.services = services;
        self
    }

    /// Calls webhook URLs outside loopback too. Off by default: otherwise a client that may write webhook configurations
    /// could make this process send requests to any host that it reaches.
    #[must_use]
    pub fn allow_remote_hooks(mut self) -> Self {
        self.remote_hooks = true;
        self
    }

    /// Presents this client certificate to admission webhooks that ask for one, as a real API server does by its admission
    /// configuration. As on a real one, conversion webhooks get no client certificate.
    #[must_use]
    pub fn client_certificate(mut self, certificate: ClientCertificate) -> Self {
        self.client_certificate = Some(certificate);
        self
    }

    /// Sees which values the conditions of policies' expressions have: [`Chain::policy_coverage`].
    #[must_use]
    pub fn policy_coverage(mut self) -> Self {
        self.policy_coverage = true;
        self
    }

    /// The chain.
    pub fn build(self) -> Chain {
        let client = Client::new(self.services, self.remote_hooks, self.client_certificate);
        Chain {
            plugins: Plugins::new(self.plugins, self.pod_security),
            policies: Policies::new(self.policy_coverage),
            webhooks: Webhooks::new(client, self.observer, self.meter),
        }
    }
}

impl fmt::Debug for ChainBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainBuilder")
            .field("services", &self.services)
            .field("remote_hooks", &self.remote_hooks)
            .finish_non_exhaustive()
    }
}
