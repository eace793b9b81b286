//! What a program is made of.

use kube::CustomResourceExt;
use kubewright_certificates::SharedAuthority;
use kubewright_controller::{AnyController, Election};
use kubewright_manifests::Install;
use kubewright_server::Readiness;
use kubewright_webhook::Webhooks;
use serde_json::Value;

use crate::trust::Publish;

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
    authority: Option<SharedAuthority>,
    publish: Option<Publish>,
    api_services: Vec<String>,
    install: Install,
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
            authority: None,
            publish: None,
            api_services: Vec::new(),
            install: Install::default(),
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

    /// Has the program look after its certificates itself: it makes an authority in a Secret that all replicas share, each of
    /// which signs for itself, and rotates it. What has to be trusted is written into the `caBundle` of every object that leads
    /// API servers to the program before anything is served that needs it.
    ///
    /// So nothing has to be made beforehand: no Secret, no cert-manager, and no `caBundle` in what is installed. `run` takes
    /// neither `--certificates` nor `--self-signed` then; either one is used instead of the authority.
    ///
    /// The permissions that it takes are printed with the others:
    ///
    /// ```
    /// use kubewright_certificates::SharedAuthority;
    /// use kubewright_manager::{App, Needs, Program};
    ///
    /// fn app(_: &mut Needs) -> App {
    ///     App::new("policy").certificates(SharedAuthority::in_secret("policy-certs").for_service("policy"))
    /// }
    ///
    /// let permissions = Program::new(app).permissions();
    /// let role = &permissions.objects()[0]["rules"];
    /// assert_eq!(role[0]["verbs"], serde_json::json!(["create"]));
    /// assert_eq!(role[1]["resourceNames"], serde_json::json!(["policy-certs"]));
    /// assert_eq!(role[1]["verbs"], serde_json::json!(["get", "update", "watch"]));
    /// assert_eq!(role[2]["resources"], serde_json::json!(["events"]));
    /// ```
    pub fn certificates(mut self, authority: SharedAuthority) -> Self {
        self.authority = Some(authority);
        self
    }

    /// Has the program write what its certificate needs into the `caBundle` of every object that leads API servers to it: its
    /// webhook configurations and the definitions that it converts. With `--certificates` that is `ca.crt`.
    ///
    /// Certificates of others in a bundle stay, and so do the program's own of earlier times: whoever issues them knows when
    /// nobody serves by them any more. What others overwrite is put back at once. Objects that are not there are not made.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_manager::{App, Needs, Program};
    /// use kubewright_webhook::{Change, Review, Validated, Webhooks, validating};
    ///
    /// async fn lenient(_: Change<Pod>, _: Review) -> Validated {
    ///     Ok(())
    /// }
    ///
    /// fn app(_: &mut Needs) -> App {
    ///     let webhooks = Webhooks::new("policy.example.com").with(validating("lenient", lenient));
    ///     App::new("policy").webhooks(webhooks).publishes_ca()
    /// }
    ///
    /// let permissions = Program::new(app).permissions();
    /// let rule = &permissions.objects()[0]["rules"][0];
    /// assert_eq!(rule["resources"], serde_json::json!(["validatingwebhookconfigurations"]));
    /// assert_eq!(rule["resourceNames"], serde_json::json!(["policy"]));
    /// ```
    pub fn publishes_ca(mut self) -> Self {
        self.publish = Some(Publish::Trust);
        self
    }

    /// Has cert-manager write the `caBundle` of every object that leads API servers to the program: each is given the
    /// annotation `cert-manager.io/inject-ca-from` with the certificate that is named here, as `namespace/name`.
    pub fn ca_injected_from(mut self, certificate: impl Into<String>) -> Self {
        self.publish = Some(Publish::InjectedFrom(certificate.into().into()));
        self
    }

    /// Says that the program serves an aggregated API, by the name of its APIService such as
    /// `v1beta1.metrics.example.com`: that leads API servers to it, too, and is kept with its webhook configurations.
    pub fn serves_api(mut self, api_service: impl Into<String>) -> Self {
        self.api_services.push(api_service.into());
        self
    }

    /// Says how the program is installed, which is everything that the rest cannot know: its namespace, its image, where its
    /// certificate comes from unless it looks after that itself. The sub-command `manifests` writes what it comes to.
    ///
    /// ```
    /// use kubewright_manager::{App, Needs, Program};
    /// use kubewright_manifests::Install;
    ///
    /// fn app(_: &mut Needs) -> App {
    ///     let install = Install::in_namespace("gardens").image("ghcr.io/example/gardens");
    ///     App::new("gardens").version("1.2.0").install(install)
    /// }
    ///
    /// let installer = Program::new(app).deployment()?;
    /// assert!(installer.manifests().to_yaml().contains("image: ghcr.io/example/gardens:1.2.0\n"));
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn install(mut self, install: Install) -> Self {
        self.install = install;
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

    /// Returns the name of the webhook configurations.
    #[must_use]
    pub fn configuration_name(&self) -> &str {
        self.configuration.as_deref().unwrap_or(&self.name)
    }

    pub(crate) fn version_number(&self) -> Option<&str> {
        self.version.as_deref()
    }

    pub(crate) fn installation(&self) -> &Install {
        &self.install
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

    /// Returns the authority by which the program looks after its certificates itself, if it does.
    #[must_use]
    pub fn authority(&self) -> Option<&SharedAuthority> {
        self.authority.as_ref()
    }

    pub(crate) fn publish(&self) -> Option<&Publish> {
        self.publish.as_ref()
    }

    pub(crate) fn api_services(&self) -> &[String] {
        &self.api_services
    }

    pub(crate) fn crds(&self) -> &[Value] {
        &self.crds
    }

    pub(crate) fn controllers(&self) -> &[AnyController] {
        &self.controllers
    }
}
