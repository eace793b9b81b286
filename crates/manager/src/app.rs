//! What a program is made of.

use kube::CustomResourceExt;
use kubewright_controller::{AnyController, Election};
use kubewright_server::Readiness;
use kubewright_webhook::Webhooks;
use serde_json::Value;

/// What a program is made of: one value that is served, tested and written as manifests.
///
/// # Example: a program with one validator
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_manager::{App, Needs};
/// use kubewright_webhook::{Change, Review, Validated, Webhooks, validating};
///
/// async fn lenient(_: Change<Pod>, _: Review) -> Validated {
///     Ok(())
/// }
///
/// fn app(_: &mut Needs) -> App {
///     App::new("policy")
///         .webhooks(Webhooks::new("policy.example.com").with(validating("lenient", lenient)))
/// }
/// # assert_eq!(app(&mut Needs::default()).name(), "policy");
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct App {
    name: String,
    version: Option<String>,
    configuration: Option<String>,
    webhooks: Webhooks,
    crds: Vec<Value>,
    controllers: Vec<AnyController>,
    election: Option<Election>,
    log_levels: Option<String>,
    liveness: Readiness,
    readiness: Readiness,
}

impl App {
    /// Starts a program that does nothing yet.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            webhooks: Webhooks::new(&name),
            name,
            version: None,
            configuration: None,
            crds: Vec::new(),
            controllers: Vec::new(),
            election: None,
            log_levels: None,
            liveness: Readiness::default(),
            readiness: Readiness::default(),
        }
    }

    /// Sets the version that the sub-command `version` prints, such as
    /// `env!("CARGO_PKG_VERSION")`.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sets the name of the webhook configurations, which is otherwise the name of the program.
    pub fn configuration(mut self, name: impl Into<String>) -> Self {
        self.configuration = Some(name.into());
        self
    }

    /// Sets the webhooks, instead of those that were set before.
    pub fn webhooks(mut self, webhooks: Webhooks) -> Self {
        self.webhooks = webhooks;
        self
    }

    /// Defines a custom resource that this program works with: a type that derives `kube::CustomResource`.
    ///
    /// The sub-command `crds` prints the definition. Whoever installs the program applies it first, as `kubewright dev` and
    /// `TestCluster` do: a program does not define kinds itself, since that takes a permission over all of a cluster.
    ///
    /// # Panics
    ///
    /// The definition cannot be written as JSON; one that is derived can.
    pub fn crd<K: CustomResourceExt>(mut self) -> Self {
        let crd = serde_json::to_value(K::crd());
        self.crds
            .push(crd.expect("every definition can be written as JSON"));
        self
    }

    /// Adds a controller. What it watches, the program may get, list and watch.
    pub fn controller(mut self, controller: impl Into<AnyController>) -> Self {
        self.controllers.push(controller.into());
        self
    }

    /// Has one replica at a time run the controllers: the one that holds a Lease, which is named here.
    ///
    /// Every replica serves webhooks, fills its caches and is ready, whether it leads or not. One that can no longer renew
    /// the Lease stops its controllers at once, stays, and stands for election again; one that is told to stop finishes the
    /// reconciles at hand and gives the Lease back, so that another leads within milliseconds.
    ///
    /// ```
    /// use kubewright_controller::Election;
    /// use kubewright_manager::{App, Needs, Program};
    ///
    /// fn app(_: &mut Needs) -> App {
    ///     App::new("gardens").leader_elected(Election::by_lease("gardens").in_namespace("blue"))
    /// }
    ///
    /// let roles = Program::new(app).permissions();
    /// assert_eq!(roles.objects()[0]["rules"][1]["resourceNames"], serde_json::json!(["gardens"]));
    /// ```
    pub fn leader_elected(mut self, election: impl Into<Election>) -> Self {
        self.election = Some(election.into());
        self
    }

    /// Has the level of the log follow a ConfigMap in the program's own namespace while the program runs. By custom it is
    /// called `config-logging`, and programs share it: each one looks at its own key, `loglevel.<name of the program>`.
    ///
    /// The value is what `--log-level` takes: `debug`, or `info,kubewright_server=debug`. One that is no level changes
    /// nothing, and a warning says so; without the key, or the ConfigMap, the level is that of the command line.
    ///
    /// ```
    /// use kubewright_manager::{App, Needs, Program};
    ///
    /// fn app(_: &mut Needs) -> App {
    ///     App::new("gardens").log_level_from("config-logging")
    /// }
    ///
    /// let permissions = Program::new(app).permissions();
    /// let role = &permissions.objects()[0];
    /// assert_eq!(role["rules"][0]["resourceNames"], serde_json::json!(["config-logging"]));
    /// assert_eq!(role["rules"][0]["verbs"], serde_json::json!(["get", "list", "watch"]));
    /// ```
    pub fn log_level_from(mut self, config_map: impl Into<String>) -> Self {
        self.log_levels = Some(config_map.into());
        self
    }

    /// Adds a check of the program's own to `/livez` and `/healthz`: where it fails, the kubelet starts the program anew.
    pub fn live_while(
        self,
        check: impl Into<String>,
        holds: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        self.liveness.check(check, holds);
        self
    }

    /// Adds a check of the program's own to `/readyz`: while it fails, no calls are sent here.
    pub fn ready_while(
        self,
        check: impl Into<String>,
        holds: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        self.readiness.check(check, holds);
        self
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn version_text(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.name),
            None => self.name.clone(),
        }
    }

    pub(crate) fn configuration_name(&self) -> &str {
        self.configuration.as_deref().unwrap_or(&self.name)
    }

    pub(crate) fn hooks(&self) -> &Webhooks {
        &self.webhooks
    }

    /// Returns whether API servers call this program.
    #[must_use]
    pub fn has_webhooks(&self) -> bool {
        !self.webhooks.declarations().is_empty() || !self.webhooks.conversions().is_empty()
    }

    /// Returns the definitions of the custom resources that this program converts, without their conversions.
    #[must_use]
    pub fn converted_definitions(&self) -> Vec<serde_json::Value> {
        let conversions = self.webhooks.conversions().into_iter();
        conversions
            .map(|conversion| conversion.definition)
            .collect()
    }

    pub(crate) fn liveness(&self) -> Readiness {
        self.liveness.clone()
    }

    pub(crate) fn readiness(&self) -> Readiness {
        self.readiness.clone()
    }

    pub(crate) fn election(&self) -> Option<&Election> {
        self.election.as_ref()
    }

    pub(crate) fn log_levels(&self) -> Option<&str> {
        self.log_levels.as_deref()
    }

    pub(crate) fn crds(&self) -> &[Value] {
        &self.crds
    }

    pub(crate) fn controllers(&self) -> &[AnyController] {
        &self.controllers
    }
}
