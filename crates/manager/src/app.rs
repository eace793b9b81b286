//! What a program is made of.

use kube::CustomResourceExt;
use kubewright_certificates::SharedAuthority;
use kubewright_controller::{AnyController, LeaderElection};
use kubewright_manifests::Install;
use kubewright_server::Readiness;
use kubewright_webhook::{KubernetesVersion, Webhooks};
use serde_json::Value;

use crate::diagnostics::{SECURE, Secure};
use crate::task::{BEGIN, BeginTasks, Task};
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
    tasks: Vec<Task>,
    begin_tasks: Option<BeginTasks>,
    election: Option<LeaderElection>,
    log_levels: Option<String>,
    authority: Option<SharedAuthority>,
    publish: Option<Publish>,
    api_services: Vec<String>,
    secures_metrics: Option<Secure>,
    install: Install,
    liveness: Readiness,
    readiness: Readiness,
}

impl App {
    /// Makes a program of this name, without webhooks and controllers. The name is the default for everything that belongs to the
    /// program: its webhook configurations, its roles, its Deployment.
    ///
    /// ```
    /// use kubewright_manager::App;
    ///
    /// let app = App::new("policy");
    /// assert_eq!((app.name(), app.configuration_name()), ("policy", "policy"));
    /// assert!(!app.has_webhooks());
    /// ```
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            webhooks: Webhooks::new(&name),
            name,
            version: None,
            configuration: None,
            crds: Vec::new(),
            controllers: Vec::new(),
            tasks: Vec::new(),
            begin_tasks: None,
            election: None,
            log_levels: None,
            authority: None,
            publish: None,
            api_services: Vec::new(),
            secures_metrics: None,
            install: Install::default(),
            liveness: Readiness::default(),
            readiness: Readiness::default(),
        }
    }

    /// Sets the version that the sub-command `version` prints and that the image is tagged with, such as
    /// `env!("CARGO_PKG_VERSION")`.
    ///
    /// ```
    /// use kubewright_manager::{App, Program};
    ///
    /// let program = Program::new(|_| App::new("gardens").version("1.2.0"));
    /// assert!(program.deployment()?.manifests().to_yaml().contains("image: gardens:1.2.0\n"));
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sets the name of the webhook configurations. Default: the name of the program.
    ///
    /// ```
    /// use kubewright_manifests::Endpoint;
    #[doc = include_str!("policy.md")]
    ///
    /// let program = Program::new(|needs| app(needs).webhook_configuration_name("policy-of-blue"));
    /// let manifests = program.manifests(Endpoint::service("blue/policy")?, None)?;
    /// assert_eq!(manifests.objects()[0]["metadata"]["name"], "policy-of-blue");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn webhook_configuration_name(mut self, name: impl Into<String>) -> Self {
        self.configuration = Some(name.into());
        self
    }

    /// Sets the webhooks, and replaces those that were set before.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_manager::App;
    /// use kubewright_webhook::{Change, Review, Validated, Webhooks, validating};
    ///
    /// async fn lenient(_: Change<Pod>, _: Review) -> Validated {
    ///     Ok(())
    /// }
    ///
    /// let app = App::new("policy").webhooks(Webhooks::new("policy.example.com").with(validating("lenient", lenient)));
    /// assert!(app.has_webhooks());
    /// ```
    pub fn webhooks(mut self, webhooks: Webhooks) -> Self {
        self.webhooks = webhooks;
        self
    }

    /// Sets the oldest version of Kubernetes that the program is installed on. Policies that API servers of this version cannot evaluate
    /// become webhooks of the program, which decide the same. Default: the newest one.
    ///
    /// The flag `--kubernetes` of the program's commands takes its place. Call this after [`webhooks`](Self::webhooks).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_manager::App;
    /// use kubewright_webhook::{Change, ClusterPolicy, Review, Validated, Webhooks, validating};
    /// use serde_json::json;
    ///
    /// async fn lenient(_: Change<Pod>, _: Review) -> Validated {
    ///     Ok(())
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = ClusterPolicy::new(validating("lenient", lenient), json!({}), json!({}));
    /// let app = App::new("policy").webhooks(Webhooks::new("policy.example.com").with(policy));
    /// assert!(!app.has_webhooks());
    /// assert!(app.kubernetes("1.29".parse()?).has_webhooks());
    /// # Ok(())
    /// # }
    /// ```
    pub fn kubernetes(mut self, oldest: KubernetesVersion) -> Self {
        self.webhooks = self.webhooks.for_kubernetes(oldest);
        self
    }

    /// Adds the definition of a custom resource that the program works with: of a type that derives `kube::CustomResource`.
    ///
    /// The sub-command `crds` prints the definition. The installer applies it before the program, as `kubewright dev` and
    /// `TestCluster` do: a program does not create definitions itself, since that takes a permission over the whole cluster.
    ///
    /// ```
    /// # use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    /// # use kube::{CustomResourceExt, core::ApiResource};
    /// use kubewright_manager::{App, Program};
    ///
    /// # /// What `#[derive(CustomResource)]` makes of a struct `GardenSpec`.
    /// # struct Garden;
    /// # impl CustomResourceExt for Garden {
    /// #     fn crd() -> CustomResourceDefinition {
    /// #         let mut crd = CustomResourceDefinition::default();
    /// #         crd.metadata.name = Some(Self::crd_name().to_owned());
    /// #         crd
    /// #     }
    /// #     fn crd_name() -> &'static str { "gardens.example.com" }
    /// #     fn api_resource() -> ApiResource { unreachable!("the program does not call this") }
    /// #     fn shortnames() -> &'static [&'static str] { &[] }
    /// # }
    /// let program = Program::new(|_| App::new("gardens").crd::<Garden>());
    /// assert_eq!(program.crds().objects()[0]["metadata"]["name"], "gardens.example.com");
    /// ```
    ///
    /// # Panics
    ///
    /// If the definition cannot be written as JSON, which a derived definition always can.
    pub fn crd<K: CustomResourceExt>(mut self) -> Self {
        let crd = serde_json::to_value(K::crd());
        self.crds
            .push(crd.expect("every definition can be written as JSON"));
        self
    }

    /// Adds a controller. The program may get, list and watch the kinds that the controller watches.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
    /// use kubewright_controller::{Action, Context, Controller, Error, owned};
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// async fn reconcile(_: Arc<Namespace>, _: Context) -> Result<Action, Error> {
    ///     Ok(Action::await_change())
    /// }
    ///
    /// let controller = Controller::new("namespaces", reconcile).watch(owned::<ConfigMap>());
    /// let roles = Program::new(|_| App::new("greeter").controller(controller)).permissions();
    /// let verbs = ["get", "list", "watch"];
    /// let rule = json!({"apiGroups": [""], "resources": ["configmaps", "namespaces"], "verbs": verbs});
    /// assert_eq!(roles.objects()[0]["rules"], json!([rule]));
    /// ```
    pub fn controller(mut self, controller: impl Into<AnyController>) -> Self {
        let controller = controller.into().of_program(&*self.name);
        self.controllers.push(controller);
        self
    }

    /// Adds a task: what the program does besides answering reviews and reconciling objects.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_controller::Error;
    /// use kubewright_manager::{App, Needs, Task, TaskContext};
    ///
    /// async fn warm_up(_: TaskContext) -> Result<(), Error> {
    ///     Ok(())
    /// }
    /// async fn report(_: TaskContext) -> Result<(), Error> {
    ///     Ok(())
    /// }
    ///
    /// fn app(_: &mut Needs) -> App {
    ///     App::new("gardens")
    ///         .leader_election("gardens")
    ///         .task(Task::on_each_replica("warm-up", warm_up))
    ///         .task(Task::on_leader("report", report).cron("0 6 * * MON-FRI"))
    /// }
    /// # assert_eq!(app(&mut Needs::default()).name(), "gardens");
    /// ```
    pub fn task(mut self, task: Task) -> Self {
        self.begin_tasks = Some(BEGIN);
        self.tasks.push(task);
        self
    }

    /// Enables leader election: only the replica that holds the Lease of this name runs the controllers and the
    /// [tasks of the leader](Task::on_leader).
    ///
    /// Every replica serves webhooks, fills its caches and is ready, whether it leads or not. A leader that can no longer renew
    /// the Lease stops its controllers at once, keeps running, and stands for election again. A leader that shuts down finishes
    /// the reconciles in progress and releases the Lease, so that another replica leads within milliseconds.
    ///
    /// ```
    /// use kubewright_controller::LeaderElection;
    /// use kubewright_manager::{App, Needs, Program};
    ///
    /// fn app(_: &mut Needs) -> App {
    ///     App::new("gardens").leader_election(LeaderElection::by_lease("gardens").in_namespace("blue"))
    /// }
    ///
    /// let roles = Program::new(app).permissions();
    /// assert_eq!(roles.objects()[0]["rules"][1]["resourceNames"], serde_json::json!(["gardens"]));
    /// ```
    pub fn leader_election(mut self, election: impl Into<LeaderElection>) -> Self {
        self.election = Some(election.into());
        self
    }

    /// Follows the log level in a ConfigMap in the program's own namespace while the program runs. By convention its name is
    /// `config-logging`, and programs share it: each program reads its own key, `loglevel.<name of the program>`.
    ///
    /// The value has the form of `--log-level`: `debug`, or `info,kubewright_server=debug`. An invalid value changes nothing
    /// and is logged as a warning; without the key, or the ConfigMap, the level is that of the command line.
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

    /// Lets the program manage its certificates itself: it creates a CA in a Secret that all replicas share, rotates it, and
    /// each replica signs its own certificate. The program writes the CA into the `caBundle` of every object that leads API
    /// servers to it before it serves a certificate that needs the CA.
    ///
    /// The installation then needs no Secret, no cert-manager and no `caBundle`, and `run` needs neither `--certificates` nor
    /// `--self-signed`; either flag replaces the CA in the Secret.
    ///
    /// The program's roles grant the permissions that this takes:
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

    /// Lets the program write the CA of its certificate into the `caBundle` of every object that leads API servers to it: its
    /// webhook configurations and the definitions that it converts. With `--certificates` the CA is `ca.crt`.
    ///
    /// The program keeps the other certificates of a bundle, its own earlier ones included: only their issuer knows when no
    /// server uses them any more. It restores its CA at once when another client overwrites it, and creates no missing objects.
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
    ///     App::new("policy").webhooks(webhooks).publish_ca()
    /// }
    ///
    /// let permissions = Program::new(app).permissions();
    /// let rule = &permissions.objects()[0]["rules"][0];
    /// assert_eq!(rule["resources"], serde_json::json!(["validatingwebhookconfigurations"]));
    /// assert_eq!(rule["resourceNames"], serde_json::json!(["policy"]));
    /// ```
    pub fn publish_ca(mut self) -> Self {
        self.publish = Some(Publish::Trust);
        self
    }

    /// Lets cert-manager write the `caBundle` of every object that leads API servers to the program: the program sets the annotation
    /// `cert-manager.io/inject-ca-from` on each of them, with this certificate, as `namespace/name`.
    ///
    /// ```
    #[doc = include_str!("policy.md")]
    /// let roles = Program::new(|needs| app(needs).inject_ca_from("blue/policy-tls")).permissions();
    /// let rule = &roles.objects()[0]["rules"][0];
    /// assert_eq!(rule["resources"][0], "validatingwebhookconfigurations");
    /// assert_eq!(rule["verbs"], serde_json::json!(["get", "list", "update", "watch"]));
    /// ```
    pub fn inject_ca_from(mut self, certificate: impl Into<String>) -> Self {
        self.publish = Some(Publish::InjectedFrom(certificate.into().into()));
        self
    }

    /// Declares that the program serves an aggregated API, by the name of its APIService such as `v1beta1.metrics.example.com`. The
    /// program then keeps the `caBundle` of the APIService as it keeps that of its webhook configurations.
    ///
    /// ```
    /// use kubewright_manager::{App, Program};
    ///
    /// let app = App::new("metrics").serve_api("v1beta1.metrics.example.com").publish_ca();
    /// let roles = Program::new(|_| app).permissions();
    /// let rule = &roles.objects()[0]["rules"][0];
    /// assert_eq!(rule["resources"][0], "apiservices");
    /// assert_eq!(rule["resourceNames"][0], "v1beta1.metrics.example.com");
    /// ```
    pub fn serve_api(mut self, api_service: impl Into<String>) -> Self {
        self.api_services.push(api_service.into());
        self
    }

    /// Sets how the program is installed: its namespace, its image, and the source of its certificate unless the program manages
    /// [its certificates](Self::certificates) itself. The sub-command `manifests` prints the objects.
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

    /// Serves the metrics over HTTPS, and only to clients that may read them, as programs of kubebuilder do by default.
    ///
    /// A client sends the token of a ServiceAccount. The program asks the API server whose token it is, and whether that user may get
    /// the path: by a TokenReview and a SubjectAccessReview, which its roles then permit. A user may read the metrics by a ClusterRole
    /// with the verb `get` and the `nonResourceURLs` `/metrics`; the manifests have one, `NAME-metrics-reader`, and leave it to you to
    /// bind it. Probes are answered for all clients.
    ///
    /// On the same port, those who may get `/debug/program` see the inside of the program, as `kubewright inspect` prints it: its
    /// caches, queues, errors and certificates, without values of objects. The role for it is `NAME-inspector`.
    ///
    /// The certificate is that of the program's webhooks. A program without webhooks makes one for itself when it starts, which no
    /// client knows to trust.
    ///
    /// ```
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// let program = Program::new(|_| App::new("gardens").secure_metrics());
    /// let roles = program.permissions();
    /// let rules = &roles.objects()[0]["rules"];
    /// assert_eq!(rules[0]["resources"], json!(["tokenreviews"]));
    /// assert_eq!(rules[1]["resources"], json!(["subjectaccessreviews"]));
    /// ```
    pub fn secure_metrics(mut self) -> Self {
        self.secures_metrics = Some(SECURE);
        self
    }

    /// Adds a check to `/livez` and `/healthz`. While it fails, the kubelet restarts the program.
    ///
    /// ```
    /// use kubewright_manager::{App, Program};
    #[doc = include_str!("get.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let app = App::new("worker").liveness_check("queue", || false);
    /// let started = Program::new(|_| app).health_probe_bind_address(([127, 0, 0, 1], 0)).start().await?;
    /// let answer = get(started.health_probe_addr().unwrap(), "/livez").await?;
    /// assert!(answer.contains("[-]queue failed"), "{answer}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn liveness_check(
        self,
        check: impl Into<String>,
        holds: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        self.liveness.check(check, holds);
        self
    }

    /// Adds a check to `/readyz`. While it fails, the Service sends no requests to this replica.
    ///
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
    /// use kubewright_manager::{App, Program};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let is_warm = Arc::new(AtomicBool::new(false));
    /// let warm = Arc::clone(&is_warm);
    /// let app = App::new("worker").readiness_check("warm", move || warm.load(Ordering::Relaxed));
    /// let readiness = Program::new(|_| app).start().await?.readiness();
    /// assert!(readiness.conditions().contains(&("warm".to_owned(), false)));
    /// is_warm.store(true, Ordering::Relaxed);
    /// assert!(readiness.conditions().contains(&("warm".to_owned(), true)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn readiness_check(
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
    ///
    /// ```
    /// use kubewright_manager::App;
    ///
    /// assert_eq!(App::new("policy").configuration_name(), "policy");
    /// let app = App::new("policy").webhook_configuration_name("policy-of-blue");
    /// assert_eq!((app.name(), app.configuration_name()), ("policy", "policy-of-blue"));
    /// ```
    #[must_use]
    pub fn configuration_name(&self) -> &str {
        self.configuration.as_deref().unwrap_or(&self.name)
    }

    /// The name of the webhook configurations, if it is another one than that of the program.
    pub(crate) fn prefix(&self) -> Option<&str> {
        self.configuration
            .as_deref()
            .filter(|name| *name != self.name)
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

    pub(crate) fn election(&self) -> Option<&LeaderElection> {
        self.election.as_ref()
    }

    pub(crate) fn secures_metrics(&self) -> Option<Secure> {
        self.secures_metrics
    }

    pub(crate) fn log_levels(&self) -> Option<&str> {
        self.log_levels.as_deref()
    }

    /// Returns the shared authority of the program's certificates, if [`certificates`](Self::certificates) has set one.
    ///
    /// ```
    /// use kubewright_certificates::SharedAuthority;
    /// use kubewright_manager::App;
    ///
    /// let app = App::new("policy").certificates(SharedAuthority::in_secret("policy-certs"));
    /// assert_eq!(app.authority().unwrap().secret(), "policy-certs");
    /// ```
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

    pub(crate) fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    pub(crate) fn begin_tasks(&self) -> Option<BeginTasks> {
        self.begin_tasks
    }

    pub(crate) fn controllers(&self) -> &[AnyController] {
        &self.controllers
    }
}
