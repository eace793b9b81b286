//! The test cluster: an API server, the webhooks under test behind real TLS, and a client on both.

use std::any::TypeId;
use std::fmt::{self, Debug};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Request};
use kube::client::Body;
use kube::core::{NamespaceResourceScope, Resource};
use kube::{Client, CustomResourceExt};
use kubewright_apiserver::admission::AdmissionPlugin;
use kubewright_apiserver::{ApiServer, Controllers};
use kubewright_manager::{App, Needs, Program};
use kubewright_webhook::Webhooks;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::account;
use crate::apply::apply;
use crate::definitions;
use crate::fail;
use crate::faults::{Faults, Requests, Sent, WayLayer};
use crate::host::{Host, Settings, webhook_address};
use crate::outcome::Outcome;
use crate::permissions::Ledger;
use crate::published;
use crate::server::Server;
use crate::serving::Serving;

/// A Kubernetes cluster for a test: an API server, by default inside this process and without controllers.
///
/// Clones share the cluster. It ends, with its sockets and tasks, when the last clone is dropped.
///
/// The same test runs on a real API server when `KUBEWRIGHT_TEST_CLUSTER` says so: see [`Server`]. Tests share that one,
/// and each cluster keeps to itself there: it begins in a namespace of its own, see [`TestCluster::namespace`]; the
/// webhooks under test are called for objects in that one and in those that the cluster creates; and what it installs is
/// removed when it is dropped. Objects without a namespace are everybody's: give them [`unique`](crate::unique) names.
#[derive(Clone)]
pub struct TestCluster {
    client: Client,
    namespace: String,
    running: Arc<Running>,
}

#[derive(Debug)]
struct Running {
    // First of all its traces are removed: a real API server is not to call programs that have ended.
    host: Host,
    server: Server,
    programs: Vec<Serving>,
    ledgers: Vec<Arc<Ledger>>,
    faults: Faults,
    exact_permissions: bool,
}

/// How a test cluster starts.
#[derive(Debug, Default)]
#[must_use = "a cluster starts with `.start().await`"]
pub struct Builder {
    programs: Vec<Program>,
    definitions: Vec<Value>,
    listen: bool,
    server: Option<Server>,
    controllers: Controllers,
    plugins: Vec<AdmissionPlugin>,
    write_latency: Duration,
    faults: Faults,
    exact_permissions: bool,
}

impl fmt::Debug for TestCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestCluster")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Runs a program, its controllers and its webhooks behind HTTPS, and installs its webhook configurations. The custom
    /// resources that it says it works with are defined before.
    ///
    /// It runs as a service account of its own with the roles that its sub-command `permissions` prints. When it is refused
    /// something that it has no permission for, the test fails and says what that was: at the next request through this
    /// cluster, or when the cluster is dropped.
    pub fn app(mut self, app: impl FnOnce(&mut Needs) -> App) -> Self {
        self.programs.push(Program::new(app));
        self
    }

    /// Serves these webhooks over HTTPS and installs their configurations, named `under-test`.
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

    /// Also opens a socket, for clients outside this process: see [`TestCluster::kubeconfig`]. A real API server always
    /// has one.
    pub fn listen(mut self) -> Self {
        self.listen = true;
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

    /// Runs these admission plugins besides the default ones. [`AdmissionPlugin::ServiceAccount`] does not run by default, as
    /// in envtest; with it, pods come to webhooks as on a cluster: with their service account and the volume of its token.
    /// It rejects pods in a namespace without the ServiceAccount `default`, which
    /// [`Controllers::service_accounts`] makes. An existing cluster has its own plugins, whatever is said here.
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

    /// Lets these things go wrong from the start of the programs under test: what is said later is said by
    /// [`TestCluster::faults`].
    pub fn faults(mut self, faults: &Faults) -> Self {
        self.faults = faults.clone();
        self
    }

    /// Runs on this API server, whichever one the environment names.
    pub fn on(mut self, server: Server) -> Self {
        self.server = Some(server);
        self
    }

    /// Also fails the test if at its end a program was granted something that it has never used: for a test that makes the
    /// program do all that it does. To get, to list and to watch counts as one permission; what leader election and the
    /// rotation of certificates need from time to time does not count. See [`TestCluster::unused_permissions`].
    pub fn exact_permissions(mut self) -> Self {
        self.exact_permissions = true;
        self
    }

    /// Starts the cluster and waits until every program serves and knows all that its caches hold.
    ///
    /// # Panics
    /// Something could not start, or a cache was not complete within ten seconds; the message says what.
    pub async fn start(self) -> TestCluster {
        let server = self.server.unwrap_or_else(Server::chosen);
        let settings = Settings {
            controllers: self.controllers,
            plugins: self.plugins,
            write_latency: self.write_latency,
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
                program = program.configuration(name);
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
            // Before it has heard of them, it believes that nobody has to be told.
            for configuration in program.configurations_to_fill() {
                published::filled(&client, configuration).await;
            }
        }
        running.wait_for_programs().await;
        for program in &running.programs {
            for configuration in program.configurations() {
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
    /// A cluster to configure.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A cluster with nothing but an API server.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// A kube client with all permissions.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// What goes wrong between the programs under test and the API server: nothing, until a test says so.
    pub fn faults(&self) -> &Faults {
        &self.running.faults
    }

    /// A kube client with all permissions that is treated as those of the programs under test are: [faults](Self::faults)
    /// befall it, and what it [sends](Self::sent) is remembered.
    pub fn client_under_test(&self) -> Client {
        self.client_under(&self.running.faults)
    }

    /// A kube client with all permissions that these faults befall, and no others: one replica of several that cannot reach
    /// the API server.
    pub fn client_under(&self, faults: &Faults) -> Client {
        self.running
            .host
            .client_under_test(&WayLayer(faults.clone()))
    }

    /// What the programs under test have sent of these requests, in order, those included that something befell on the way.
    ///
    /// # Example: nothing is written for no change
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kube::api::PostParams;
    /// use kubewright_testing::{Requests, TestCluster, yaml};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let cluster = TestCluster::start().await;
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// let map = yaml("metadata: {name: web}");
    /// maps.create(&PostParams::default(), &map).await.unwrap();
    /// assert!(maps.create(&PostParams::default(), &map).await.is_err());
    ///
    /// let sent = cluster.sent(&Requests::of::<ConfigMap>().writes());
    /// let statuses: Vec<Option<u16>> = sent.iter().map(|sent| sent.status()).collect();
    /// assert_eq!(statuses, [Some(201), Some(409)]);
    /// # }
    /// ```
    pub fn sent(&self, requests: &Requests) -> Vec<Sent> {
        self.running.faults.sent(requests)
    }

    /// Forgets what was sent until now, so that a test counts from here.
    pub fn forget_sent(&self) {
        self.running.faults.forget_sent();
    }

    /// The embedded API server, for what the client cannot say.
    ///
    /// # Panics
    /// The cluster runs on another one. A test that cannot do without asks for it: [`Builder::on`].
    #[track_caller]
    pub fn server(&self) -> &ApiServer {
        match &self.running.host {
            Host::Embedded { server, .. } => server,
            Host::Shared(_) => fail(format_args!(
                "the test cluster is `{}`, and only an embedded one has its API server in the test: build it with \
                 `.on(Server::Embedded)`, or ask the API server by `.client()` or `.send()`",
                self.running.server
            )),
        }
    }

    /// A kubeconfig for clients outside this process.
    ///
    /// # Panics
    /// The cluster is an embedded one that was built without [`Builder::listen`].
    #[track_caller]
    pub fn kubeconfig(&self) -> String {
        self.running.host.kubeconfig()
    }

    /// The namespace of requests whose objects name none: `default` in an embedded cluster, one of its own elsewhere.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The same cluster, seen from another namespace, which must exist.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            ..self.clone()
        }
    }

    /// Creates a namespace with labels and looks at the cluster from there.
    ///
    /// # Panics
    /// The namespace exists already, or admission refused it. On a shared API server others may have taken a name: use
    /// [`unique`](crate::unique).
    pub async fn new_namespace(&self, name: &str, labels: &[(&str, &str)]) -> Self {
        let labels: serde_json::Map<String, Value> = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).into()))
            .collect();
        let namespace = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": labels},
        });
        match &self.running.host {
            Host::Embedded { .. } => {
                self.apply(&namespace).await.expect_allowed();
            }
            Host::Shared(shared) => shared.create_namespace(namespace).await,
        }
        self.in_namespace(name)
    }

    /// The same cluster, asked by somebody else.
    #[must_use]
    pub fn as_user(&self, name: &str, groups: &[&str]) -> Self {
        Self {
            client: self.running.host.client(Some((name, groups))),
            ..self.clone()
        }
    }

    /// What the programs under test were granted and have not used yet, such as `gardens: delete configmaps in the whole
    /// cluster`. [`Builder::exact_permissions`] fails a test for it.
    pub fn unused_permissions(&self) -> Vec<String> {
        self.running.unused_permissions()
    }

    /// Creates an object.
    pub async fn create<K: Object>(&self, object: &K) -> Outcome<K> {
        let body = self.body(object);
        let request = self.requests::<K>(object.meta().namespace.as_deref());
        let created: kube::Result<K> = self.ask(request.create(&PostParams::default(), body)).await;
        if let (Host::Shared(shared), Ok(created)) = (&self.running.host, &created)
            && K::kind(&()) == "Namespace"
        {
            shared.remove_namespace_later(created.meta().name.as_deref().unwrap_or_default());
        }
        Outcome::new(created)
    }

    /// Replaces an object, by its name.
    pub async fn replace<K: Object>(&self, object: &K) -> Outcome<K> {
        let name = object.meta().name.as_deref().unwrap_or_default();
        let request = self.requests::<K>(object.meta().namespace.as_deref());
        Outcome::new(
            self.ask(request.replace(name, &PostParams::default(), self.body(object)))
                .await,
        )
    }

    /// Changes an object by a JSON merge patch.
    pub async fn merge<K: Object>(&self, name: &str, patch: &Value) -> Outcome<K> {
        let request = self.requests::<K>(None);
        let patch = Patch::Merge(patch);
        Outcome::new(
            self.ask(request.patch(name, &PatchParams::default(), &patch))
                .await,
        )
    }

    /// Deletes an object; what is left of it, if it lives on for a while, is not returned.
    pub async fn delete<K: Object>(&self, name: &str) -> Outcome<()> {
        let request = self.requests::<K>(None);
        let deleted = self
            .ask::<Value>(request.delete(name, &DeleteParams::default()))
            .await;
        Outcome::new(deleted.map(drop))
    }

    /// The named object, if there is one.
    ///
    /// # Panics
    /// The API server answered anything but the object or its absence.
    pub async fn get<K: Object>(&self, name: &str) -> Option<K> {
        let request = self.requests::<K>(None);
        match self.ask(request.get(name, &GetParams::default())).await {
            Ok(object) => Some(object),
            Err(kube::Error::Api(status)) if status.is_not_found() => None,
            Err(error) => fail(format_args!("cannot get {} {name}: {error}", K::kind(&()))),
        }
    }

    /// Creates or changes an object of any kind, as `kubectl apply` would.
    pub async fn apply(&self, object: &Value) -> Outcome<Value> {
        let mut object = object.clone();
        self.running.host.mark(&mut object);
        Outcome::new(apply(&self.client, &self.namespace, &object).await)
    }

    /// Sends a request as it is, and returns the answer as it is, be it an error.
    ///
    /// # Panics
    /// There was no answer.
    pub async fn send(&self, request: http::Request<Vec<u8>>) -> http::Response<Vec<u8>> {
        let answer = match self.client.send(request.map(Body::from)).await {
            Ok(answer) => answer,
            Err(error) => fail(format_args!("the API server does not answer: {error}")),
        };
        let (head, body) = answer.into_parts();
        match body.collect_bytes().await {
            Ok(body) => http::Response::from_parts(head, body.to_vec()),
            Err(error) => fail(format_args!("the API server's answer breaks off: {error}")),
        }
    }

    fn requests<K: Object>(&self, namespace: Option<&str>) -> Request {
        let namespaced = TypeId::of::<K::Scope>() == TypeId::of::<NamespaceResourceScope>();
        let namespace = namespaced.then(|| namespace.unwrap_or(&self.namespace));
        Request::new(K::url_path(&(), namespace))
    }

    fn body<K: Object>(&self, object: &K) -> Vec<u8> {
        let written = serde_json::to_value(object).map(|mut object| {
            self.running.host.mark(&mut object);
            object.to_string().into_bytes()
        });
        match written {
            Ok(body) => body,
            Err(error) => fail(format_args!(
                "the object cannot be written as JSON: {error}"
            )),
        }
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> kube::Result<T> {
        self.running.fail_for_refusals();
        self.client
            .request(request.map_err(kube::Error::BuildRequest)?)
            .await
    }
}

impl Running {
    fn unused_permissions(&self) -> Vec<String> {
        let ledgers = self.ledgers.iter();
        ledgers.flat_map(|ledger| ledger.unused()).collect()
    }

    /// A test begins when nothing that the programs do at their start is still to come.
    async fn wait_for_programs(&self) {
        const PATIENCE: Duration = Duration::from_secs(10);
        let deadline = Instant::now() + PATIENCE;
        let mut pause = Duration::from_millis(1);
        let awaits = |program: &Serving| Some((program.name().to_owned(), program.awaits()?));
        while let Some((name, missing)) = self.programs.iter().find_map(awaits) {
            self.fail_for_refusals();
            if Instant::now() >= deadline {
                let sent = self.faults.sent(&Requests::all());
                let last: Vec<String> = sent
                    .iter()
                    .rev()
                    .take(5)
                    .rev()
                    .map(Sent::to_string)
                    .collect();
                fail(format_args!(
                    "the {missing} of the program under test `{name}` are not complete within {PATIENCE:?}; it last sent:\n  {}",
                    last.join("\n  ")
                ));
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// Ends the test if a program lacks a permission, or has ended.
    fn fail_for_refusals(&self) {
        let mut ended = self.programs.iter();
        let ended = ended.find_map(|program| Some((program.name(), program.ended()?)));
        if let Some((name, why)) = ended {
            fail(format_args!(
                "the program under test `{name}` has ended: {why}"
            ));
        }
        if let Some(refused) = self.ledgers.iter().find_map(|ledger| ledger.refusals()) {
            fail(format_args!("{refused}"));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that fails already says why.
        if std::thread::panicking() {
            return;
        }
        self.fail_for_refusals();
        let unused = self.unused_permissions();
        if self.exact_permissions && !unused.is_empty() {
            fail(format_args!(
                "the programs under test were granted what they have never used:\n  {}",
                unused.join("\n  ")
            ));
        }
    }
}

/// A type of Kubernetes object that a test can work with: every type of `k8s-openapi`, and custom ones that derive
/// `kube::CustomResource`.
pub trait Object:
    Resource<DynamicType = (), Scope: 'static> + Clone + Debug + Serialize + DeserializeOwned
{
}

impl<K> Object for K where
    K: Resource<DynamicType = (), Scope: 'static> + Clone + Debug + Serialize + DeserializeOwned
{
}
