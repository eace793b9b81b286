//! The API server as a value: made in memory, asked in process or over HTTPS, gone when it is dropped.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use kubewright_storage::{Limits, Store, compact_every};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Duration;

use crate::access::{
    self, Access, AuthorizationMode, Authorizer, Caller, Modes, ServiceAccountTokens,
};
use crate::admission::{AdmissionPlugin, Chain, ChainBuilder, Enabled};
use crate::audit::Audit;
use crate::cluster::StoredCluster;
use crate::controllers::Controllers;
use crate::definitions::Definitions;
use crate::kinds::strategy::services::Pool;
use crate::kinds::{Registry, Served};
use crate::listen::{self, ListenError, Listening, SecureServing};
use crate::rest::{self, BoxError, body::Body};
use crate::seed::Seed;

/// An embedded Kubernetes API server.
///
/// Clones are the same server. Its objects live in memory and are gone with the last clone.
#[derive(Clone)]
pub struct ApiServer {
    shared: Arc<Shared>,
}

/// What can be set about an [`ApiServer`].
#[derive(Debug)]
#[must_use]
pub struct Builder {
    limits: Limits,
    chain: ChainBuilder,
    plugins: Enabled,
    audit: Option<Audit>,
    controllers: Controllers,
    modes: Vec<AuthorizationMode>,
    tokens: ServiceAccountTokens,
    compaction_interval: Option<Duration>,
    write_latency: Duration,
}

/// The API server as a tower service: requests are answered in process, as from the admin.
#[derive(Clone, Debug)]
pub struct ApiService {
    shared: Arc<Shared>,
    caller: Caller,
}

/// What all parts of one server use.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<Store>,
    pub(crate) served: Arc<Served>,
    pub(crate) definitions: Definitions,
    pub(crate) chain: Chain,
    pub(crate) cluster: StoredCluster,
    pub(crate) addresses: Mutex<Pool>,
    pub(crate) access: Access,
    pub(crate) audit: Option<Audit>,
    stopped: watch::Sender<bool>,
}

impl ApiServer {
    /// Starts a server with the built-in kinds and the objects that every cluster has.
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// Starts with settings of one's own.
    pub fn builder() -> Builder {
        Builder {
            limits: Limits::default(),
            chain: ChainBuilder::default(),
            plugins: Enabled::default(),
            audit: None,
            controllers: Controllers::none(),
            modes: vec![AuthorizationMode::AlwaysAllow],
            tokens: ServiceAccountTokens::default(),
            compaction_interval: None,
            write_latency: Duration::ZERO,
        }
    }

    /// The server as a tower service, with no socket: hand it to `kube::Client::new`.
    ///
    /// Requests act as the admin unless they bring a token or impersonate somebody.
    pub fn service(&self) -> ApiService {
        ApiService {
            shared: self.shared.clone(),
            caller: Caller {
                user: Some(access::admin()),
                distrusted: false,
                address: None,
                stopped: self.shared.stopped.subscribe(),
            },
        }
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

    /// Ends every watch of in-process clients, and the controllers.
    pub fn stop(&self) {
        self.shared.stopped.send_replace(true);
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
    /// [`AdmissionPlugin::ServiceAccount`] is the one that does not run by default, as in envtest: it rejects pods in a
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
    pub fn audit(mut self, audit: Audit) -> Self {
        self.audit = Some(audit);
        self
    }

    /// Runs controllers beside the server. There are none unless they are asked for.
    pub fn controllers(mut self, controllers: Controllers) -> Self {
        self.controllers = controllers;
        self
    }

    /// Decides in these ways who may do what: one that allows is enough. The default is
    /// [`AuthorizationMode::AlwaysAllow`]. The group `system:masters` may do everything in every one, and so may the admin,
    /// who is in it.
    pub fn authorization(mut self, modes: impl IntoIterator<Item = AuthorizationMode>) -> Self {
        self.modes = modes.into_iter().collect();
        self
    }

    /// Lets nobody do more than roles and bindings say, as clusters do: `--authorization-mode=Node,RBAC`.
    ///
    /// Without this, everybody who is authenticated may do everything. With it, the group `system:masters` still may,
    /// and so may the admin, who is in it; everybody else needs a binding. What is written counts at once.
    ///
    /// Kubelets have no bindings: see [`AuthorizationMode::Node`]. Controllers have the bindings to `system:controller:*`
    /// that every server starts with.
    ///
    /// # Example: somebody who may read ConfigMaps, and no more
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

    /// Issues and verifies the tokens of service accounts with keys from elsewhere. The default is a key of the server's own.
    pub fn service_account_tokens(mut self, tokens: ServiceAccountTokens) -> Self {
        self.tokens = tokens;
        self
    }

    /// Starts the server.
    ///
    /// # Panics
    /// Controllers or a compaction interval are asked for outside of a tokio runtime.
    pub fn start(self) -> ApiServer {
        let store =
            Store::with_initial_objects(self.limits, Seed::now()).with_latency(self.write_latency);
        let store = Arc::new(store);
        if let Some(interval) = self.compaction_interval {
            tokio::spawn(compact_every(interval, Arc::downgrade(&store)));
        }
        let authorizer: Arc<dyn Authorizer> = Arc::new(Modes::new(&self.modes, &store));
        let mut addresses = Pool::new();
        Seed::adopt(&mut addresses);
        let served = Arc::new(Served::new(Registry::builtin_when_asked()));
        let shared = Arc::new(Shared {
            cluster: StoredCluster::new(store.clone(), served.clone(), authorizer.clone()),
            store,
            served,
            definitions: Definitions::default(),
            chain: self.chain.plugins(self.plugins).build(),
            addresses: Mutex::new(addresses),
            access: Access::new(authorizer, self.tokens),
            audit: self.audit,
            stopped: watch::Sender::new(false),
        });
        self.controllers.start(&shared, shared.stopped.subscribe());
        ApiServer { shared }
    }
}

impl ApiService {
    /// The same server, asked by whoever stands behind a connection.
    pub(crate) fn for_caller(shared: Arc<Shared>, caller: Caller) -> Self {
        Self { shared, caller }
    }
}

impl<B> tower::Service<Request<B>> for ApiService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let body = body.map_err(Into::into).boxed_unsync();
        let (shared, caller) = (self.shared.clone(), self.caller.clone());
        Box::pin(async move { Ok(rest::serve(shared, caller, parts, body).await) })
    }
}
