//! The test cluster: an API server, the webhooks under test behind real TLS, and a client on both.

mod builder;
mod requests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kubewright_apiserver::{ApiServer, PodHandlers};
use serde_json::Value;
use tokio::time::{Instant, sleep};

pub use builder::Builder;
pub use requests::Object;

use crate::fail;
use crate::faults::{Faults, Requests, Sent, WayLayer};
use crate::host::Host;
use crate::permissions::Ledger;
use crate::server::Server;
use crate::serving::Serving;

/// A Kubernetes cluster for a test: an API server, by default inside this process and without controllers.
///
/// Clones share the cluster. It ends, with its sockets and tasks, when the last clone is dropped.
///
/// The same test runs on a real API server when `KUBEWRIGHT_TEST_CLUSTER` says so: see [`Server`]. Tests share that API
/// server, and each test cluster is isolated on it: it has its own namespace, see [`TestCluster::namespace`]; the API server
/// calls the webhooks under test only for objects in that namespace and in those that the test cluster creates; and the test
/// cluster deletes what it has installed when it is dropped. All tests share the cluster-scoped objects: give yours
/// [`unique`](crate::unique) names.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_testing::{TestCluster, yaml};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let cluster = TestCluster::start().await;
/// let map: ConfigMap = yaml("metadata: {name: web}");
/// cluster.create(&map).await.expect_allowed();
/// assert!(cluster.get::<ConfigMap>("web").await.is_some());
/// cluster.delete::<ConfigMap>("web").await.expect_allowed();
/// assert!(cluster.get::<ConfigMap>("web").await.is_none());
/// # });
/// ```
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

impl fmt::Debug for TestCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestCluster")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl TestCluster {
    /// Returns a kube client with all permissions, for requests that the cluster's own methods do not make.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kube::Api;
    /// use kube::api::ListParams;
    /// use kubewright_testing::TestCluster;
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let namespaces: Api<Namespace> = Api::all(cluster.client());
    /// let system = ListParams::default().fields("metadata.name=kube-system");
    /// assert_eq!(namespaces.list(&system).await.unwrap().items.len(), 1);
    /// # });
    /// ```
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns the faults between the programs under test and the API server. There are none until a test adds one.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kubewright_testing::{Refusal, Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// cluster.faults().on(Requests::all()).once().answer(Refusal::unavailable());
    ///
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// assert!(maps.get_opt("web").await.is_err());
    /// assert!(maps.get_opt("web").await.unwrap().is_none());
    /// # });
    /// ```
    pub fn faults(&self) -> &Faults {
        &self.running.faults
    }

    /// Returns a kube client with all permissions that takes the way of the programs under test: it is subject to the
    /// cluster's [faults](Self::faults), and [`sent`](Self::sent) lists its requests.
    ///
    /// Use it to test code that takes a client and is not a program.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kubewright_testing::{Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// maps.get_opt("web").await.unwrap();
    /// let sent = cluster.sent(&Requests::of::<ConfigMap>());
    /// assert_eq!(sent[0].request().verb, "get");
    /// # });
    /// ```
    pub fn client_under_test(&self) -> Client {
        self.client_under(&self.running.faults)
    }

    /// Returns a kube client with all permissions that is subject to these faults alone: one replica of several, which cannot
    /// reach the API server.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kubewright_testing::{Faults, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let (first, second) = (Faults::new(), Faults::new());
    /// let maps = |faults| -> Api<ConfigMap> {
    ///     Api::namespaced(cluster.client_under(faults), cluster.namespace())
    /// };
    /// first.outage(Duration::from_secs(60));
    /// assert!(maps(&first).get_opt("web").await.is_err());
    /// assert!(maps(&second).get_opt("web").await.is_ok());
    /// # });
    /// ```
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

    /// Forgets the requests that were sent until now, so that a test counts from here.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kubewright_testing::{Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// maps.get_opt("before").await.unwrap();
    /// cluster.forget_sent();
    /// maps.get_opt("after").await.unwrap();
    /// let sent = cluster.sent(&Requests::all());
    /// let names: Vec<&str> = sent.iter().map(|sent| sent.request().name.as_str()).collect();
    /// assert_eq!(names, ["after"]);
    /// # });
    /// ```
    pub fn forget_sent(&self) {
        self.running.faults.forget_sent();
    }

    /// Returns the embedded API server, for tests that need more of it than a client can do.
    ///
    /// ```
    /// use kubewright_testing::{Server, TestCluster};
    /// use tower::ServiceExt as _;
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::builder().on(Server::Embedded).start().await;
    /// // The API server is a tower service.
    /// let request = http::Request::get("/version").body(kube::client::Body::empty()).unwrap();
    /// let response = cluster.server().service().oneshot(request).await.unwrap();
    /// assert_eq!(response.status(), 200);
    /// # });
    /// ```
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

    /// Returns what answers `exec`, `attach` and `portforward` of the cluster's pods: functions of the test.
    ///
    /// A handler answers for all pods, or for those to which it was narrowed; of several that fit, the last one counts. Without
    /// one, simulated containers run plain commands such as `echo` and `sh -c "exit 3"`, and ports lead to the programs of
    /// containers. Anything else is refused with a sentence that says so. As on a node, a container must be running, so the
    /// cluster needs [`Controllers`](crate::Controllers), or the test writes the pod's node and status.
    ///
    /// # Example: code that asks a database whether it is ready
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube::Api;
    /// use kube::api::AttachParams;
    /// use kubewright_testing::{Controllers, Server, TestCluster, eventually, yaml};
    /// use tokio::io::AsyncWriteExt as _;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let cluster = TestCluster::builder()
    ///     .on(Server::Embedded)
    ///     .controllers(Controllers::all())
    ///     .start()
    ///     .await;
    /// cluster.pods().image("postgres:*").on_exec(async |mut session| {
    ///     assert_eq!(session.command, ["pg_isready"]);
    ///     session.stdout.write_all(b"no response\n").await.unwrap();
    ///     2
    /// });
    /// let pod: Pod = yaml("
    ///     metadata: {name: db-0}
    ///     spec: {containers: [{name: db, image: postgres:18}]}
    /// ");
    /// cluster.create(&pod).await.expect_allowed();
    /// eventually("a running pod", async || {
    ///     let phase = cluster.get::<Pod>("db-0").await?.status?.phase?;
    ///     (phase == "Running").then_some(())
    /// })
    /// .await;
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    /// let mut command = pods.exec("db-0", ["pg_isready"], &AttachParams::default()).await.unwrap();
    /// let status = command.take_status().unwrap().await.unwrap();
    /// assert_eq!(status.reason.as_deref(), Some("NonZeroExitCode"));
    /// # }
    /// ```
    ///
    /// # Panics
    /// The cluster is not an embedded one: build it with `.on(Server::Embedded)`.
    #[track_caller]
    pub fn pods(&self) -> PodHandlers {
        self.server().pods()
    }

    /// Returns a kubeconfig for clients outside the test's process, such as `kubectl`, as YAML.
    ///
    /// ```
    /// use kubewright_testing::{Server, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::builder().on(Server::Embedded).listen().start().await;
    /// let kubeconfig = cluster.kubeconfig();
    /// assert!(kubeconfig.contains("server: https://127.0.0.1:"), "{kubeconfig}");
    /// # });
    /// ```
    ///
    /// # Panics
    /// The cluster is an embedded one that was built without [`Builder::listen`].
    #[track_caller]
    pub fn kubeconfig(&self) -> String {
        self.running.host.kubeconfig()
    }

    /// Returns the namespace of objects that name none: `default` in an embedded cluster, a namespace of the cluster's own on a
    /// real API server.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_testing::{Server, TestCluster, yaml};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::builder().on(Server::Embedded).start().await;
    /// assert_eq!(cluster.namespace(), "default");
    /// let map: ConfigMap = yaml("metadata: {name: web}");
    /// let stored = cluster.create(&map).await.expect_allowed();
    /// assert_eq!(stored.metadata.namespace.as_deref(), Some("default"));
    /// # });
    /// ```
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the same cluster with another default namespace, which must exist.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let map: ConfigMap = yaml("metadata: {name: kubewright-example}");
    /// let system = cluster.in_namespace("kube-system");
    /// system.create(&map).await.expect_allowed();
    /// assert!(cluster.get::<ConfigMap>("kubewright-example").await.is_none());
    /// system.delete::<ConfigMap>("kubewright-example").await.expect_allowed();
    /// # });
    /// ```
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            ..self.clone()
        }
    }

    /// Creates a namespace with labels and returns the cluster with that default namespace.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
    /// use kubewright_testing::{TestCluster, unique, yaml};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let blue = cluster.new_namespace(&unique("blue"), &[("team", "blue")]).await;
    /// let map: ConfigMap = yaml("metadata: {name: web}");
    /// let stored = blue.create(&map).await.expect_allowed();
    /// assert_eq!(stored.metadata.namespace.as_deref(), Some(blue.namespace()));
    ///
    /// let namespace: Namespace = cluster.get(blue.namespace()).await.unwrap();
    /// assert_eq!(namespace.metadata.labels.unwrap()["team"], "blue");
    /// # });
    /// ```
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

    /// Returns the same cluster with requests by another user, who has the permissions that bindings in the cluster grant.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let map: ConfigMap = yaml("metadata: {name: web}");
    /// let alice = cluster.as_user("alice", &["dev"]);
    /// assert!(alice.create(&map).await.expect_status().is_forbidden());
    /// let admin = cluster.as_user("root", &["system:masters"]);
    /// admin.create(&map).await.expect_allowed();
    /// # });
    /// ```
    #[must_use]
    pub fn as_user(&self, name: &str, groups: &[&str]) -> Self {
        Self {
            client: self.running.host.client(Some((name, groups))),
            ..self.clone()
        }
    }

    /// Lists the permissions that the programs under test were granted and have not used yet.
    /// [`Builder::exact_permissions`] fails a test that leaves any.
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
    /// let cluster = TestCluster::builder().app(app).start().await;
    /// assert!(!cluster.unused_permissions().is_empty());
    /// handles.recv().unwrap().get(("default", "web")).await.unwrap();
    /// assert!(cluster.unused_permissions().is_empty());
    /// # });
    /// ```
    pub fn unused_permissions(&self) -> Vec<String> {
        self.running.unused_permissions()
    }
}

impl TestCluster {
    pub(crate) fn host(&self) -> &Host {
        &self.running.host
    }
}

impl Running {
    fn unused_permissions(&self) -> Vec<String> {
        let ledgers = self.ledgers.iter();
        ledgers.flat_map(|ledger| ledger.unused()).collect()
    }

    /// A test begins when nothing that the programs do at their start is still to come.
    async fn wait_for_programs(&self) {
        const SYNC_TIMEOUT: Duration = Duration::from_secs(10);
        let deadline = Instant::now() + SYNC_TIMEOUT;
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
                    "the {missing} of the program under test `{name}` are not complete within {SYNC_TIMEOUT:?}; it last sent:\n  {}",
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
