//! How a test cluster starts: its API server, the programs under test and what they need there.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use kube::CustomResourceExt;
use kubewright_apiserver::admission::AdmissionPlugin;
use kubewright_apiserver::{Controllers, KubernetesVersion, Snapshot, import};
use kubewright_manager::{App, Needs, Program};
use kubewright_webhook::Webhooks;
use serde_json::Value;

use super::{Running, TestCluster};
use crate::account;
use crate::definitions;
use crate::fail;
use crate::faults::{Faults, WayLayer};
use crate::host::{Host, Settings, webhook_address};
use crate::policies;
use crate::published;
use crate::server::Server;
use crate::serving::Serving;

/// Configures and starts a [`TestCluster`].
///
/// ```
/// use k8s_openapi::api::core::v1::ServiceAccount;
/// use kubewright_testing::{Controllers, Server, TestCluster, eventually};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let cluster = TestCluster::builder()
///     .on(Server::Embedded)
///     .controllers(Controllers::none().service_accounts())
///     .start()
///     .await;
/// eventually("the default account", async || {
///     cluster.get::<ServiceAccount>("default").await
/// })
/// .await;
/// # });
/// ```
#[derive(Debug, Default)]
#[must_use = "a cluster starts with `.start().await`"]
pub struct Builder {
    programs: Vec<Program>,
    definitions: Vec<Value>,
    listen: bool,
    server: Option<Server>,
    version: KubernetesVersion,
    controllers: Controllers,
    plugins: Vec<AdmissionPlugin>,
    write_latency: Duration,
    snapshot: Option<Snapshot>,
    faults: Faults,
    exact_permissions: bool,
}

impl Builder {
    /// Runs a program with its controllers and its webhooks behind HTTPS, and installs its webhook configurations. The custom
    /// resources that the program declares in [`App`] are defined before.
    ///
    /// The program runs as a service account of its own with the roles that its sub-command `permissions` prints. When the API
    /// server refuses it something for lack of a permission, the test fails and names the request: at the next request through
    /// this cluster, or when the cluster is dropped.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_manager::{App, Needs};
    /// use kubewright_testing::{TestCluster, yaml};
    /// use kubewright_webhook::{Change, Mutated, Review, Webhooks, mutating};
    ///
    /// async fn team(change: Change<ConfigMap>, _: Review) -> Mutated<ConfigMap> {
    ///     let mut map = change.into_object();
    ///     map.metadata.labels.get_or_insert_default().insert("team".into(), "blue".into());
    ///     Ok(map)
    /// }
    ///
    /// fn app(_: &mut Needs) -> App {
    ///     App::new("policy").webhooks(Webhooks::new("policy.example.com").with(mutating("team", team)))
    /// }
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::builder().app(app).start().await;
    /// let map: ConfigMap = yaml("metadata: {name: web}");
    /// let stored = cluster.create(&map).await.expect_allowed();
    /// assert_eq!(stored.metadata.labels.unwrap()["team"], "blue");
    /// # });
    /// ```
    pub fn app(mut self, app: impl FnOnce(&mut Needs) -> App) -> Self {
        self.programs.push(Program::new(app));
        self
    }

    /// Serves these webhooks over HTTPS and installs their configurations: a program named `under-test` with no more than that.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_testing::{TestCluster, yaml};
    /// use kubewright_webhook::{Change, Review, Validated, Webhooks, deny, validating};
    ///
    /// async fn frozen(_: Change<ConfigMap>, _: Review) -> Validated {
    ///     deny("the release is frozen")
    /// }
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let webhooks = Webhooks::new("policy.example.com").with(validating("frozen", frozen));
    /// let cluster = TestCluster::builder().webhooks(webhooks).start().await;
    /// let map: ConfigMap = yaml("metadata: {name: web}");
    /// let denied = cluster.create(&map).await.expect_denied();
    /// assert_eq!(denied.message(), "the release is frozen");
    /// # });
    /// ```
    pub fn webhooks(self, webhooks: Webhooks) -> Self {
        self.app(|_| App::new("under-test").webhooks(webhooks))
    }

    /// Defines a custom resource before anything else runs, and waits until it is established. On a real API server, which
    /// others use too, the definition stays.
    ///
    /// Types of one resource are its versions; objects are stored as the first one says. What the webhooks under test
    /// [convert](kubewright_webhook::converting) is defined by that alone, and needs no `crd`.
    ///
    /// # Panics
    /// The definition cannot be written as JSON.
    ///
    /// # Example: objects of a kind of one's own
    ///
    /// ```
    /// use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    /// use kube::CustomResourceExt;
    /// use kubewright_testing::{Server, TestCluster, yaml};
    /// use serde_json::{Value, json};
    ///
    /// /// What `#[derive(CustomResource)]` writes for a type.
    /// struct Widget;
    ///
    /// impl CustomResourceExt for Widget {
    ///     fn crd() -> CustomResourceDefinition {
    ///         yaml("
    ///             metadata: {name: widgets.example.com}
    ///             spec:
    ///               group: example.com
    ///               scope: Namespaced
    ///               names: {plural: widgets, kind: Widget}
    ///               versions:
    ///               - name: v1
    ///                 served: true
    ///                 storage: true
    ///                 schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer, default: 3}}}}
    ///         ")
    ///     }
    ///     fn crd_name() -> &'static str { "widgets.example.com" }
    ///     fn api_resource() -> kube::core::ApiResource { kube::core::ApiResource::from_gvk(
    ///         &kube::core::GroupVersionKind::gvk("example.com", "v1", "Widget")) }
    ///     fn shortnames() -> &'static [&'static str] { &[] }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let cluster = TestCluster::builder().on(Server::Embedded).crd::<Widget>().start().await;
    /// let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}});
    /// let made: Value = cluster.apply(&widget).await.expect_allowed();
    /// assert_eq!(made["size"], 3);
    /// # }
    /// ```
    pub fn crd<K: CustomResourceExt>(mut self) -> Self {
        match serde_json::to_value(K::crd()) {
            Ok(definition) => self.definitions.push(definition),
            Err(error) => fail(format_args!("cannot write {}: {error}", K::crd_name())),
        }
        self
    }

    /// Defines the custom resources of others before anything else runs: all that the files of a folder define. On a real API
    /// server the definitions stay.
    ///
    /// ```
    /// use kubewright_testing::{Server, TestCluster};
    /// use serde_json::{Value, json};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let crds = folder.path();
    /// # std::fs::write(crds.join("tickets.yaml"), r#"
    /// # kind: CustomResourceDefinition
    /// # metadata: {name: tickets.example.org}
    /// # spec:
    /// #   group: example.org
    /// #   scope: Namespaced
    /// #   names: {plural: tickets, kind: Ticket}
    /// #   versions:
    /// #   - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
    /// # "#).unwrap();
    /// let cluster = TestCluster::builder().on(Server::Embedded).definitions(crds).start().await;
    /// let ticket = json!({"apiVersion": "example.org/v1", "kind": "Ticket", "metadata": {"name": "a"}});
    /// let _: Value = cluster.apply(&ticket).await.expect_allowed();
    /// # }
    /// ```
    ///
    /// # Panics
    /// The folder or one of its files cannot be read, or has no definition in it.
    pub fn definitions(mut self, folder: impl AsRef<Path>) -> Self {
        match definitions::of_folder(folder.as_ref()) {
            Ok(found) => self.definitions.extend(found),
            Err(why) => fail(format_args!("{why}")),
        }
        self
    }

    /// Also listens on a port of 127.0.0.1, for clients outside the test's process: see [`TestCluster::kubeconfig`]. A real API
    /// server always listens.
    ///
    /// ```
    /// use kubewright_testing::{Server, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::builder().on(Server::Embedded).listen().start().await;
    /// let kubeconfig = kube::config::Kubeconfig::from_yaml(&cluster.kubeconfig()).unwrap();
    /// let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
    /// let client = kube::Client::try_from(config).unwrap();
    /// assert_eq!(client.apiserver_version().await.unwrap().major, "1");
    /// # });
    /// ```
    pub fn listen(mut self) -> Self {
        self.listen = true;
        self
    }

    /// Emulates an older version of Kubernetes, `1.35` or `1.36`: what came later is neither served nor kept. The default is the
    /// newest that the embedded API server knows.
    ///
    /// # Panics
    /// The version is not one of them. When the cluster starts: a real API server has a version of its own.
    ///
    /// # Example: a field that the cluster of a user does not have yet
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::StatefulSet;
    /// use kubewright_testing::{Server, TestCluster, yaml};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::builder().on(Server::Embedded).kubernetes("1.36").start().await;
    /// let set: StatefulSet = yaml("
    ///     metadata: {name: db}
    ///     spec:
    ///       selector: {matchLabels: {app: db}}
    ///       template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: postgres}]}}
    ///       updateStrategy: {rollingUpdate: {maxUnavailable: 2}}
    /// ");
    /// let set = cluster.create(&set).await.expect_allowed();
    /// let rolling = set.spec.update_strategy.unwrap().rolling_update.unwrap();
    /// assert_eq!(rolling.max_unavailable, None);
    /// # });
    /// ```
    pub fn kubernetes(mut self, version: &str) -> Self {
        match version.parse() {
            Ok(version) => self.version = version,
            Err(error) => fail(format_args!("{error}")),
        }
        self
    }

    /// Runs controllers beside the API server: garbage collection, Deployments that make pods. There are none by default,
    /// as with a kube-apiserver alone; an existing cluster has its own, whatever is said here.
    ///
    /// # Example: a Deployment that becomes available
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kubewright_testing::{Controllers, Server, TestCluster, eventually, yaml};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let cluster = TestCluster::builder()
    ///     .on(Server::Embedded)
    ///     .controllers(Controllers::all())
    ///     .start()
    ///     .await;
    /// let web: Deployment = yaml("
    ///     apiVersion: apps/v1
    ///     kind: Deployment
    ///     metadata: {name: web}
    ///     spec:
    ///       replicas: 3
    ///       selector: {matchLabels: {app: web}}
    ///       template:
    ///         metadata: {labels: {app: web}}
    ///         spec: {containers: [{name: web, image: nginx}]}
    /// ");
    /// cluster.create(&web).await.expect_allowed();
    /// eventually("three pods", async || {
    ///     let web = cluster.get::<Deployment>("web").await?;
    ///     (web.status?.available_replicas == Some(3)).then_some(())
    /// })
    /// .await;
    /// # }
    /// ```
    pub fn controllers(mut self, controllers: Controllers) -> Self {
        self.controllers = controllers;
        self
    }

    /// Runs these admission plugins besides the default ones.
    ///
    /// [`AdmissionPlugin::ServiceAccount`] does not run by default, as in envtest; with it, pods reach webhooks as on a cluster:
    /// with their service account and the volume of its token. It rejects pods in a namespace without the ServiceAccount
    /// `default`, which [`Controllers::service_accounts`] creates. An existing cluster keeps its own plugins.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_testing::{AdmissionPlugin, Controllers, Server, TestCluster, yaml};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::builder()
    ///     .on(Server::Embedded)
    ///     .enable_admission_plugins([AdmissionPlugin::ServiceAccount])
    ///     .controllers(Controllers::none().service_accounts())
    ///     .start()
    ///     .await;
    /// let pod: Pod = yaml("
    ///     metadata: {name: web}
    ///     spec: {containers: [{name: web, image: nginx}]}
    /// ");
    /// let pod = cluster.create(&pod).await.expect_allowed();
    /// assert_eq!(pod.spec.unwrap().service_account_name.as_deref(), Some("default"));
    /// # });
    /// ```
    pub fn enable_admission_plugins(
        mut self,
        plugins: impl IntoIterator<Item = AdmissionPlugin>,
    ) -> Self {
        self.plugins.extend(plugins);
        self
    }

    /// Lets every write of the embedded API server take so long, as a write to etcd does. The default is no time at all.
    ///
    /// Without it two changes of an object can follow each other faster than on any cluster, and a controller that must see
    /// the state between them may not. A real API server takes its own time: there it has no effect.
    ///
    /// # Example: a millisecond, as a fast etcd takes it
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use kubewright_testing::{Server, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let latency = Duration::from_millis(1);
    /// let cluster = TestCluster::builder().on(Server::Embedded).write_latency(latency).start().await;
    /// # drop(cluster);
    /// # });
    /// ```
    pub fn write_latency(mut self, latency: Duration) -> Self {
        self.write_latency = latency;
        self
    }

    /// Starts the embedded API server with the objects of a snapshot, which `kubewright apiserver snapshot` or
    /// [`TestCluster::write_snapshot`] wrote: uids, versions and owners are those of the cluster that it was taken of. The file may
    /// also be what `kubectl get -A -o json` wrote.
    ///
    /// # Panics
    /// The file cannot be read, or is not a snapshot.
    ///
    /// # Example: every test begins with the same cluster
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_testing::{Server, TestCluster, yaml};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("cluster.snapshot");
    /// let prepared = TestCluster::builder().on(Server::Embedded).start().await;
    /// let map: ConfigMap = yaml("metadata: {name: web}");
    /// let stored = prepared.create(&map).await.expect_allowed();
    /// prepared.write_snapshot(&path);
    ///
    /// let cluster = TestCluster::builder().on(Server::Embedded).snapshot(&path).start().await;
    /// assert_eq!(cluster.get::<ConfigMap>("web").await, Some(stored));
    /// # });
    /// ```
    pub fn snapshot(mut self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let why = match std::fs::read(path).map(|bytes| import(&bytes)) {
            Ok(Ok(snapshot)) => {
                self.snapshot = Some(snapshot);
                return self;
            }
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        fail(format_args!(
            "cannot read the snapshot {}: {why}",
            path.display()
        ))
    }

    /// Uses these faults, so that they hold when the programs under test start. More can be added later by them or by
    /// [`TestCluster::faults`].
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kubewright_testing::{Faults, Refusal, Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let faults = Faults::new();
    /// faults.on(Requests::of::<ConfigMap>()).once().answer(Refusal::unavailable());
    /// let cluster = TestCluster::builder().faults(&faults).start().await;
    ///
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// assert!(maps.get_opt("web").await.is_err());
    /// assert!(maps.get_opt("web").await.is_ok());
    /// # });
    /// ```
    pub fn faults(mut self, faults: &Faults) -> Self {
        self.faults = faults.clone();
        self
    }

    /// Runs on this API server instead of the one that `KUBEWRIGHT_TEST_CLUSTER` names.
    pub fn on(mut self, server: Server) -> Self {
        self.server = Some(server);
        self
    }

    /// Also fails the test if a program has never used one of its permissions: for a test that makes the program do all that it
    /// does.
    ///
    /// To get, to list and to watch counts as one permission. The permissions that leader election and the rotation of
    /// certificates use from time to time do not count. See [`TestCluster::unused_permissions`].
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::Reader;
    /// use kubewright_manager::{App, Needs};
    /// use kubewright_testing::TestCluster;
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let (sender, handles) = std::sync::mpsc::channel();
    /// let app = move |needs: &mut Needs| {
    ///     let settings: Reader<ConfigMap> = needs.in_namespace("default").reader();
    ///     sender.send(settings).unwrap();
    ///     App::new("copier")
    /// };
    /// let cluster = TestCluster::builder().app(app).exact_permissions().start().await;
    /// // Without this request the test fails when the cluster is dropped.
    /// handles.recv().unwrap().get(("default", "web")).await.unwrap();
    /// assert!(cluster.unused_permissions().is_empty());
    /// # });
    /// ```
    pub fn exact_permissions(mut self) -> Self {
        self.exact_permissions = true;
        self
    }

    /// Starts the cluster and waits until every program serves and its caches are complete.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kubewright_testing::TestCluster;
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::builder().start().await;
    /// assert!(cluster.get::<Namespace>("kube-system").await.is_some());
    /// # });
    /// ```
    ///
    /// # Panics
    /// Something could not start, or a cache was not complete within ten seconds; the message says what.
    pub async fn start(self) -> TestCluster {
        self.started().await
    }

    /// A function that is not async has its future compiled here, once, instead of in every test that starts a cluster.
    fn started(self) -> Pin<Box<dyn Future<Output = TestCluster>>> {
        Box::pin(self.start_here())
    }

    async fn start_here(self) -> TestCluster {
        let server = self.server.unwrap_or_else(Server::chosen);
        let settings = Settings {
            controllers: self.controllers,
            plugins: self.plugins,
            version: self.version,
            write_latency: self.write_latency,
            snapshot: self.snapshot,
        };
        let host = Host::start(server, self.listen, settings).await;
        let client = host.client(None);
        let of_programs = self.programs.iter().flat_map(Program::crds);
        let asked = of_programs.chain(self.definitions).collect();
        for definition in definitions::merged(asked, &self.programs) {
            definitions::establish(&client, &definition).await;
        }
        let mut programs = Vec::new();
        let mut ledgers = Vec::new();
        for mut program in self.programs {
            if let Some(name) = host.configuration(program.app().configuration_name()) {
                program = program.webhook_configuration_name(name);
            }
            if program.needs_client() {
                let way = WayLayer(self.faults.clone());
                let (own, ledger) = account::of_program(&host, &program, &way).await;
                program = program.client(own);
                ledgers.push(ledger);
            }
            let program = Box::pin(Serving::start(program, webhook_address(server))).await;
            for configuration in program.configurations() {
                if definitions::is_one(configuration) {
                    definitions::change(&client, configuration, server).await;
                } else {
                    host.install(&client, configuration).await;
                }
            }
            programs.push(program);
        }
        let running = Running {
            host,
            server,
            programs,
            ledgers,
            faults: self.faults,
            exact_permissions: self.exact_permissions,
        };
        for program in &running.programs {
            // Until a program has seen its configurations, it is ready without having filled in their caBundle.
            for configuration in program.configurations_to_fill() {
                published::filled(&client, configuration).await;
            }
        }
        running.wait_for_programs().await;
        for program in &running.programs {
            for configuration in policies::telling(program.configurations()) {
                running.host.called(configuration).await;
            }
        }
        TestCluster {
            client,
            namespace: running.host.namespace(),
            running: Arc::new(running),
        }
    }
}

impl TestCluster {
    /// Returns a builder with the defaults: the API server that `KUBEWRIGHT_TEST_CLUSTER` names, without controllers and programs.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts a cluster that is an API server alone.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// Starts an embedded API server with the objects of a snapshot; see [`Builder::snapshot`].
    ///
    /// # Panics
    /// The file cannot be read, or is not a snapshot.
    pub async fn from_snapshot(path: impl AsRef<Path>) -> Self {
        let builder = Self::builder().on(Server::Embedded);
        builder.snapshot(path).start().await
    }

    /// Writes a snapshot of the embedded API server to a file.
    ///
    /// # Panics
    /// The file cannot be written, or the API server is not the embedded one.
    pub fn write_snapshot(&self, path: impl AsRef<Path>) {
        let path = path.as_ref();
        let Some(snapshot) = self.running.host.snapshot() else {
            fail(format_args!(
                "only the embedded API server has snapshots: build the test cluster with `.on(Server::Embedded)`"
            ));
        };
        if let Err(error) = std::fs::write(path, snapshot.into_bytes()) {
            fail(format_args!(
                "cannot write the snapshot {}: {error}",
                path.display()
            ));
        }
    }
}
