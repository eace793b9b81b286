//! The API server as a value: made in memory, asked in process or over HTTPS, gone when it is dropped.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use kubewright_admission::{
    AdmissionPlugin, ChainBuilder, DetachedWebhooks, Enabled, ExpressionCoverage,
};
use kubewright_apiextensions::definitions::Definitions;
use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_auth::{
    Access, Authorities, Authority, AuthorizationMode, Authorizer, Caller, Modes,
    ServiceAccountTokens,
};
use kubewright_controllers::Controllers;
use kubewright_endpoints::openapi::Swagger;
use kubewright_endpoints::{Aggregator, FlowControl, Metrics, Shared, StoredCluster, audit::Audit};
use kubewright_fieldmanagement as managed_fields;
use kubewright_kubelet::{PodHandlers, Pods};
use kubewright_registry::Served;
use kubewright_registry::services::Pool;
use kubewright_storage::{
    At, Backend, BackendError, Limits, SharedBackend, Snapshot, Store, compact_every,
};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Duration;

use crate::authentication_config;
use crate::authority::OfServer;
use crate::listen::{self, ListenError, Listening, SecureServing};
use crate::reviews::{self, AdmissionRequest, UnknownResource, WebhookReview};
use crate::seed::Seed;
use crate::service::{self, ApiService};

/// An embedded Kubernetes API server.
///
/// Clones are the same server. Its objects live in memory and are gone with the last clone, unless [`Builder::storage`] keeps them.
#[derive(Clone)]
pub struct ApiServer {
    shared: Arc<Shared>,
}

/// What can be set about an [`ApiServer`].
#[derive(Debug)]
#[must_use]
pub struct Builder {
    version: KubernetesVersion,
    store: Option<Arc<Store>>,
    limits: Limits,
    chain: ChainBuilder,
    plugins: Enabled,
    audit: Option<Audit>,
    controllers: Controllers,
    modes: Vec<AuthorizationMode>,
    tokens: ServiceAccountTokens,
    authority: Option<Authority>,
    compaction_interval: Option<Duration>,
    write_latency: Duration,
}

impl ApiServer {
    /// Starts a server with the built-in kinds and the objects that every cluster has.
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// Starts with settings of one's own.
    pub fn builder() -> Builder {
        Builder {
            version: KubernetesVersion::default(),
            store: None,
            limits: Limits::default(),
            chain: ChainBuilder::default(),
            plugins: Enabled::default(),
            audit: None,
            controllers: Controllers::none(),
            modes: vec![AuthorizationMode::AlwaysAllow],
            tokens: ServiceAccountTokens::default(),
            authority: None,
            compaction_interval: None,
            write_latency: Duration::ZERO,
        }
    }

    /// The server as a tower service, with no socket: hand it to `kube::Client::new`.
    ///
    /// Requests act as the admin unless they carry a token or impersonate a user.
    pub fn service(&self) -> ApiService {
        let caller = Caller {
            user: Some(kubewright_auth::admin()),
            distrusted: false,
            address: None,
            stopped: self.shared.stopped.subscribe(),
        };
        ApiService::for_caller(self.shared.clone(), caller)
    }

    /// Serves HTTPS on an address; port 0 chooses a free one.
    ///
    /// # Errors
    /// The address cannot be bound, or the certificates cannot be made.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub async fn listen(&self, address: impl Into<SocketAddr>) -> Result<Listening, ListenError> {
        self.listen_with(address, SecureServing::default()).await
    }

    /// Serves HTTPS on an address with a certificate or a client CA from elsewhere; port 0 chooses a free one.
    ///
    /// # Errors
    /// The address cannot be bound, or the certificates cannot be made.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub async fn listen_with(
        &self,
        address: impl Into<SocketAddr>,
        serving: SecureServing,
    ) -> Result<Listening, ListenError> {
        listen::listen(self.shared.clone(), address.into(), serving).await
    }

    /// What answers `exec`, `attach` and `portforward` of pods: functions that a test gives.
    ///
    /// Without any, simulated containers ([`Controllers::workloads`]) run plain commands such as `echo` and `sh -c "exit 3"`, and
    /// ports lead to the programs of containers ([`Workloads::container`](crate::Workloads::container)). Anything else is refused
    /// with a sentence that says so. As on a node, a container must be running.
    ///
    /// # Example: a database that is always ready
    ///
    /// ```
    /// use kubewright_apiserver::ApiServer;
    /// use tokio::io::AsyncWriteExt as _;
    ///
    /// let server = ApiServer::start();
    /// server.pods().image("postgres:*").on_exec(async |mut session| {
    ///     let written = session.stdout.write_all(b"accepting connections\n").await;
    ///     i32::from(written.is_err())
    /// });
    /// ```
    pub fn pods(&self) -> PodHandlers {
        self.shared.pods.handlers().clone()
    }

    /// Ends every watch of in-process clients, their sessions in pods, and the controllers.
    pub fn stop(&self) {
        self.shared.stopped.send_replace(true);
    }

    /// The expressions of the admission policies as of the last request, and the values that their conditions have had: none, unless
    /// [asked for](ChainBuilder::policy_coverage).
    pub fn policy_coverage(&self) -> Vec<ExpressionCoverage> {
        self.shared.chain.policy_coverage()
    }

    /// Returns the reviews that webhooks would be sent for a request, without calling the webhooks or handling the request. The
    /// namespace of the request must exist if a webhook selects namespaces.
    ///
    /// # Errors
    /// The server does not have the resource.
    ///
    /// # Cancel safety
    /// Dropping the future ends a call of a conversion webhook in flight.
    pub async fn webhook_reviews(
        &self,
        webhooks: &DetachedWebhooks,
        request: &AdmissionRequest,
    ) -> Result<Vec<WebhookReview>, UnknownResource> {
        reviews::of(&self.shared, webhooks, request).await
    }

    /// Takes a snapshot of every object, for [`Builder::snapshot`].
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.shared.store)
    }

    /// Forgets the past, as compaction of a real server's database does: older watches and pages get 410.
    pub fn compact(&self) {
        let store = &self.shared.store;
        store.compact(store.revision());
    }
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer")
            .field("revision", &self.shared.store.revision())
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Keeps at most this many changes per resource for watches that resume. The default is 8192.
    pub fn watch_history(mut self, changes: usize) -> Self {
        self.limits.events = changes;
        self
    }

    /// Emulates an older version of Kubernetes, as kube-apiserver does with `--emulated-version`: what came later is neither
    /// served nor kept. The default is the newest.
    ///
    /// A new cluster in [`storage`](Self::storage) has the first objects of the version that was set before it.
    ///
    /// ```
    /// use http::{Request, StatusCode};
    /// use kubewright_apiserver::{ApiServer, KubernetesVersion};
    /// use tower::ServiceExt as _;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = ApiServer::builder().emulated_version(KubernetesVersion::V1_36).start();
    /// let path = "/apis/storagemigration.k8s.io/v1/storageversionmigrations";
    /// let request = Request::get(path).body(String::new())?;
    /// let answer = server.service().oneshot(request).await?;
    /// assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    /// # Ok(())
    /// # }
    /// ```
    pub fn emulated_version(mut self, version: KubernetesVersion) -> Self {
        self.version = version;
        self
    }

    /// Keeps the objects in a backend, and starts with those that it holds. By default they are gone with the server.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubewright_apiserver::{ApiServer, FileBackend};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("objects.redb");
    /// let server = ApiServer::builder().storage(FileBackend::open(path)?)?.start();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The keys of the server's certificate authority and of service account tokens are not part of it: clients need new
    /// credentials at each start, unless [`certificate_authority`](Self::certificate_authority) and
    /// [`service_account_tokens`](Self::service_account_tokens) give the same.
    ///
    /// # Errors
    /// The backend cannot be read, holds entries of another program, or cannot keep the objects that every cluster has.
    pub fn storage(mut self, backend: impl Backend + 'static) -> Result<Self, BackendError> {
        let store = Store::open(backend)?;
        store.initialize(&Seed::now(self.version))?;
        self.store = Some(Arc::new(store));
        Ok(self)
    }

    /// Keeps the objects in a backend that other servers write to as well, such as etcd: they share one cluster.
    ///
    /// Every server sees what the others have written: a request waits until this server has seen each write that was
    /// acknowledged before, unless it asks for `resourceVersion=0`. The servers need the same
    /// [`certificate_authority`](Self::certificate_authority) and [`service_account_tokens`](Self::service_account_tokens), and
    /// only one of them should run [`controllers`](Self::controllers).
    ///
    /// # Errors
    /// The backend cannot be read, holds entries of another program, or cannot keep the objects that every cluster has.
    pub fn shared_storage(
        mut self,
        backend: impl SharedBackend + 'static,
    ) -> Result<Self, BackendError> {
        let store = Arc::new(Store::open_shared(backend)?);
        store.initialize(&Seed::now(self.version))?;
        self.store = Some(store);
        Ok(self)
    }

    /// Starts with the objects of a snapshot, with their uids, versions and owners, instead of those of a new cluster.
    ///
    /// They are decoded when their resource is first asked for, so that the server starts as fast as an empty one. They live in
    /// memory; the snapshot is not changed.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubewright_apiserver::{ApiServer, Snapshot};
    ///
    /// let bytes = ApiServer::start().snapshot().into_bytes();
    /// let server = ApiServer::builder().snapshot(Snapshot::read(bytes)?).start();
    /// # Ok(())
    /// # }
    /// ```
    pub fn snapshot(mut self, snapshot: Snapshot) -> Self {
        let store = Store::with_initial_objects(self.limits, snapshot);
        self.store = Some(Arc::new(store));
        self
    }

    /// Forgets changes that are older than this, and by twice this at the latest: watches and pages from before get 410.
    ///
    /// A real API server has etcd do so every five minutes. The default is never: a test ends before.
    pub fn compaction_interval(mut self, interval: Duration) -> Self {
        self.compaction_interval = Some(interval);
        self
    }

    /// Lets every write of a client take so long. The default is no time at all.
    ///
    /// A real API server commits to etcd, which takes a millisecond or more. Two changes of one object can follow each other
    /// faster here than there, so that a controller misses the state between them.
    pub fn write_latency(mut self, latency: Duration) -> Self {
        self.write_latency = latency;
        self
    }

    /// Sets up the admission chain: where services are found, and who sees the webhook calls.
    pub fn admission(mut self, chain: ChainBuilder) -> Self {
        self.chain = chain;
        self
    }

    /// Runs these admission plugins besides the default ones: `--enable-admission-plugins` of kube-apiserver.
    ///
    /// [`AdmissionPlugin::ServiceAccount`] does not run by default, as in envtest: it rejects pods in a
    /// namespace without the ServiceAccount `default`, which a controller makes ([`Controllers::service_accounts`]).
    ///
    /// # Example: pods that get their service account and its token
    ///
    /// ```
    /// use kubewright_apiserver::admission::AdmissionPlugin;
    /// use kubewright_apiserver::{ApiServer, Controllers};
    /// use tower::ServiceExt as _;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = ApiServer::builder()
    ///     .enable_admission_plugins([AdmissionPlugin::ServiceAccount])
    ///     .controllers(Controllers::none().service_accounts())
    ///     .start();
    /// let pod = r#"{"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}"#;
    /// let request = http::Request::post("/api/v1/namespaces/default/pods").header("content-type", "application/json");
    /// let answer = server.service().oneshot(request.body(pod.to_owned())?).await?;
    /// assert_eq!(answer.status(), 201);
    /// # server.stop();
    /// # Ok(())
    /// # }
    /// ```
    pub fn enable_admission_plugins(
        mut self,
        plugins: impl IntoIterator<Item = AdmissionPlugin>,
    ) -> Self {
        plugins
            .into_iter()
            .for_each(|plugin| self.plugins.enable(plugin));
        self
    }

    /// Does not run these admission plugins: `--disable-admission-plugins` of kube-apiserver.
    pub fn disable_admission_plugins(
        mut self,
        plugins: impl IntoIterator<Item = AdmissionPlugin>,
    ) -> Self {
        plugins
            .into_iter()
            .for_each(|plugin| self.plugins.disable(plugin));
        self
    }

    /// Keeps an audit log. There is none unless this is asked for.
    ///
    /// # Example: what a request leaves in the log
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// use kubewright_apiserver::ApiServer;
    /// use kubewright_apiserver::audit::{Audit, Event};
    /// use tower::ServiceExt as _;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let events = Arc::new(Mutex::new(Vec::new()));
    /// let seen = events.clone();
    /// let audit = Audit::to(move |event: &Event| seen.lock().unwrap().push(event.clone()));
    /// let server = ApiServer::builder().audit(audit).start();
    ///
    /// let request = http::Request::get("/api/v1/namespaces/default").body(String::new())?;
    /// server.service().oneshot(request).await?;
    ///
    /// let events = events.lock().unwrap();
    /// assert_eq!(events[0].verb(), "get");
    /// assert_eq!(events[0].annotations()["authorization.k8s.io/decision"], "allow");
    /// # Ok(())
    /// # }
    /// ```
    pub fn audit(mut self, audit: Audit) -> Self {
        self.audit = Some(audit);
        self
    }

    /// Runs controllers beside the server. There are none unless they are asked for.
    ///
    /// # Example: a Deployment that becomes available
    ///
    /// ```
    /// use kubewright_apiserver::{ApiServer, Controllers};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = ApiServer::builder().controllers(Controllers::all()).start();
    /// # server.stop();
    /// # }
    /// ```
    pub fn controllers(mut self, controllers: Controllers) -> Self {
        self.controllers = controllers;
        self
    }

    /// Sets the authorization modes: a request is allowed if one of them allows it. The default is
    /// [`AuthorizationMode::AlwaysAllow`]. In every mode, the group `system:masters` may do everything, and so may the admin,
    /// who is a member.
    pub fn authorization(mut self, modes: impl IntoIterator<Item = AuthorizationMode>) -> Self {
        self.modes = modes.into_iter().collect();
        self
    }

    /// Authorizes requests by roles and bindings, as clusters do: `--authorization-mode=Node,RBAC`.
    ///
    /// Without RBAC, every authenticated user may do everything. With RBAC, only the group `system:masters` may, and so the
    /// admin, who is a member; every other user needs a binding. Changes of roles and bindings take effect at once.
    ///
    /// Kubelets have no bindings: see [`AuthorizationMode::Node`]. Controllers have the bindings to `system:controller:*`
    /// that every server starts with.
    ///
    /// # Example: a user who may only read ConfigMaps
    ///
    /// ```
    /// use http::{Request, StatusCode};
    /// use kubewright_apiserver::ApiServer;
    /// use tower::ServiceExt as _;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = ApiServer::builder().rbac().start();
    /// let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    /// for (path, body) in [
    ///     (
    ///         "roles",
    ///         r#"{"metadata": {"name": "reader"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]}"#,
    ///     ),
    ///     (
    ///         "rolebindings",
    ///         r#"{"metadata": {"name": "jane"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
    ///             "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}]}"#,
    ///     ),
    /// ] {
    ///     let request = Request::post(format!("{rbac}/{path}")).header("content-type", "application/json");
    ///     let answer = server.service().oneshot(request.body(body.to_owned())?).await?;
    ///     assert_eq!(answer.status(), StatusCode::CREATED);
    /// }
    ///
    /// let as_jane = |method, path| {
    ///     let request = Request::builder().method(method).uri(path).header("impersonate-user", "jane");
    ///     request.body(String::new())
    /// };
    /// let path = "/api/v1/namespaces/default/configmaps";
    /// let listed = server.service().oneshot(as_jane("GET", path)?).await?;
    /// assert_eq!(listed.status(), StatusCode::OK);
    /// let deleted = server.service().oneshot(as_jane("DELETE", path)?).await?;
    /// assert_eq!(deleted.status(), StatusCode::FORBIDDEN);
    /// # Ok(())
    /// # }
    /// ```
    pub fn rbac(self) -> Self {
        self.authorization([AuthorizationMode::Node, AuthorizationMode::Rbac])
    }

    /// Uses this certificate authority, instead of one that is made for this server alone: clients that trust it need no new
    /// certificates after a restart.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubewright_apiserver::{ApiServer, Authority};
    ///
    /// let authority = Authority::new()?;
    /// let (certificate, key) = (authority.certificate_pem().to_owned(), authority.key_pem());
    ///
    /// let authority = Authority::from_pem(&certificate, &key)?;
    /// let server = ApiServer::builder().certificate_authority(authority).start();
    /// let listening = server.listen(([127, 0, 0, 1], 0)).await?;
    /// assert_eq!(listening.certificate_authority(), certificate);
    /// # Ok(())
    /// # }
    /// ```
    pub fn certificate_authority(mut self, authority: Authority) -> Self {
        self.authority = Some(authority);
        self
    }

    /// Issues and verifies the tokens of service accounts with the given keys. By default, the server generates a key.
    ///
    /// # Example: tokens that another program can verify
    ///
    /// ```
    /// use kubewright_apiserver::{ApiServer, ServiceAccountTokens};
    /// use rcgen::KeyPair;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let key = KeyPair::generate()?;
    /// let tokens = ServiceAccountTokens::signed_with(key.serialize_pem())?
    ///     .verified_with(key.public_key_pem())?
    ///     .issuers(["https://issuer.example.com"]);
    /// let server = ApiServer::builder().service_account_tokens(tokens).start();
    /// # Ok(())
    /// # }
    /// ```
    pub fn service_account_tokens(mut self, tokens: ServiceAccountTokens) -> Self {
        self.tokens = tokens;
        self
    }

    /// Starts the server.
    ///
    /// # Panics
    /// Controllers, a compaction interval or a backend are asked for outside of a tokio runtime.
    pub fn start(self) -> ApiServer {
        let is_kept = self.store.is_some();
        let authorities = Arc::new(Authorities::new(self.authority));
        let in_memory = || {
            let seed = Seed::with(self.version, authorities.clone());
            Arc::new(Store::with_initial_objects(self.limits, seed))
        };
        let store = self.store.unwrap_or_else(in_memory);
        store.set_limits(self.limits);
        store.set_latency(self.write_latency);
        if let Some(interval) = self.compaction_interval {
            tokio::spawn(compact_every(interval, Arc::downgrade(&store)));
        }
        let authorizer: Arc<dyn Authorizer> =
            Arc::new(Modes::new(&self.modes, self.version, &store, || {
                Seed::now(self.version).node_role()
            }));
        let mut addresses = Pool::of_version(self.version);
        Seed::adopt(&mut addresses);
        if is_kept {
            adopt_services(&store, &mut addresses);
        }
        let served = Arc::new(Served::new(
            kubewright_apiextensions::builtin::registry_when_asked(self.version),
        ));
        let pods = Pods::default();
        let metrics = Arc::<Metrics>::default();
        let shared = Arc::new(Shared {
            definitions: Arc::new(Definitions::new(
                store.clone(),
                served.clone(),
                managed_fields::update_status,
            )),
            access: Access::new(
                authorizer.clone(),
                self.tokens,
                store.clone(),
                authorities.clone(),
            ),
            cluster: StoredCluster::new(store.clone(), served.clone(), authorizer, pods.clone()),
            pods,
            store,
            served,
            chain: self
                .chain
                .plugins(self.plugins)
                .meter(metrics.clone())
                .build(),
            addresses: Mutex::new(addresses),
            aggregator: Aggregator::new(authorities.clone()),
            audit: self.audit,
            flow_control: FlowControl::default(),
            metrics,
            swagger: Swagger::default(),
            stopped: watch::Sender::new(false),
        });
        if is_kept {
            shared.definitions.settle();
            shared.aggregator.look();
            authentication_config::publish(&shared.store, &authorities);
        }
        if shared.store.is_shared() {
            shared.definitions.follow();
        }
        if !self.controllers.is_empty() {
            let weak = Arc::downgrade(&shared);
            let server = kubewright_controllers::Server {
                service: service::of_controllers(weak.clone(), shared.stopped.subscribe()),
                store: shared.store.clone(),
                served: shared.served.clone(),
                pods: shared.pods.clone(),
                authority: Box::new(OfServer(weak)),
            };
            self.controllers.start(server, shared.stopped.subscribe());
        }
        ApiServer { shared }
    }
}

/// Marks the addresses and ports of stored services as taken.
fn adopt_services(store: &Store, addresses: &mut Pool) {
    let listed = store.list("services", "", "", usize::MAX, At::Now);
    for service in listed.map(|listed| listed.objects).unwrap_or_default() {
        addresses.adopt(&service.value());
    }
}
