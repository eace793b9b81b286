//! The test cluster: an embedded API server, the webhooks under test behind real TLS, and a client on both.

use std::any::TypeId;
use std::fmt::{self, Debug};
use std::net::SocketAddr;
use std::sync::Arc;

use kube::Client;
use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Request};
use kube::core::{NamespaceResourceScope, Resource};
use kubewright_apiserver::{ApiServer, Listening};
use kubewright_manager::{App, Needs, Program};
use kubewright_webhook::Webhooks;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::apply::apply;
use crate::fail;
use crate::outcome::Outcome;
use crate::serving::Serving;
use crate::user::acting_as;

/// A Kubernetes cluster inside this process: an API server without nodes or controllers.
///
/// Clones share the cluster. It ends, with its sockets and tasks, when the last clone is dropped.
#[derive(Clone)]
pub struct TestCluster {
    client: Client,
    namespace: String,
    running: Arc<Running>,
}

#[derive(Debug)]
struct Running {
    server: ApiServer,
    listening: Option<Listening>,
    _programs: Vec<Serving>,
}

/// How a test cluster starts.
#[derive(Debug, Default)]
#[must_use = "a cluster starts with `.start().await`"]
pub struct Builder {
    programs: Vec<Program>,
    listen: bool,
}

impl fmt::Debug for TestCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestCluster")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Runs a program, its webhooks behind HTTPS, and installs its webhook configurations.
    pub fn app(mut self, app: impl FnOnce(&mut Needs) -> App) -> Self {
        self.programs.push(Program::new(app));
        self
    }

    /// Serves these webhooks over HTTPS and installs their configurations, named `under-test`.
    pub fn webhooks(self, webhooks: Webhooks) -> Self {
        self.app(|_| App::new("under-test").webhooks(webhooks))
    }

    /// Also opens a socket, for clients outside this process: see [`TestCluster::kubeconfig`].
    pub fn listen(mut self) -> Self {
        self.listen = true;
        self
    }

    /// Starts the cluster and waits until every program serves.
    ///
    /// # Panics
    /// Something could not start; the message says what.
    pub async fn start(self) -> TestCluster {
        let server = ApiServer::start();
        let listening = if self.listen {
            let address = SocketAddr::from(([127, 0, 0, 1], 0));
            match server.listen(address).await {
                Ok(listening) => Some(listening),
                Err(error) => fail(format_args!("the test cluster cannot listen: {error}")),
            }
        } else {
            None
        };
        let client = Client::new(server.service(), DEFAULT_NAMESPACE);
        let mut serving = Vec::new();
        for program in self.programs {
            let program = Serving::start(program).await;
            for configuration in program.configurations() {
                Outcome::new(apply(&client, DEFAULT_NAMESPACE, configuration).await)
                    .expect_allowed();
            }
            serving.push(program);
        }
        let running = Running {
            server,
            listening,
            _programs: serving,
        };
        TestCluster {
            client,
            namespace: DEFAULT_NAMESPACE.to_owned(),
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

    /// The API server, for what the client cannot say.
    pub fn server(&self) -> &ApiServer {
        &self.running.server
    }

    /// A kubeconfig for clients outside this process.
    ///
    /// # Panics
    /// The cluster was built without [`Builder::listen`].
    #[track_caller]
    pub fn kubeconfig(&self) -> String {
        match &self.running.listening {
            Some(listening) => listening.kubeconfig(),
            None => fail(format_args!(
                "the cluster has no socket: build it with `.listen()`"
            )),
        }
    }

    /// The namespace of requests whose objects name none.
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
    /// The namespace exists already, or admission refused it.
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
        Outcome::new(apply(&self.client, DEFAULT_NAMESPACE, &namespace).await).expect_allowed();
        self.in_namespace(name)
    }

    /// The same cluster, asked by somebody else.
    #[must_use]
    pub fn as_user(&self, name: &str, groups: &[&str]) -> Self {
        let client = Client::new(
            acting_as(self.running.server.service(), name, groups),
            DEFAULT_NAMESPACE,
        );
        Self {
            client,
            ..self.clone()
        }
    }

    /// Creates an object.
    pub async fn create<K: Object>(&self, object: &K) -> Outcome<K> {
        let body = json(object);
        let request = self.requests::<K>(object.meta().namespace.as_deref());
        Outcome::new(
            self.send(request.create(&PostParams::default(), body))
                .await,
        )
    }

    /// Replaces an object, by its name.
    pub async fn replace<K: Object>(&self, object: &K) -> Outcome<K> {
        let name = object.meta().name.as_deref().unwrap_or_default();
        let request = self.requests::<K>(object.meta().namespace.as_deref());
        Outcome::new(
            self.send(request.replace(name, &PostParams::default(), json(object)))
                .await,
        )
    }

    /// Changes an object by a JSON merge patch.
    pub async fn merge<K: Object>(&self, name: &str, patch: &Value) -> Outcome<K> {
        let request = self.requests::<K>(None);
        let patch = Patch::Merge(patch);
        Outcome::new(
            self.send(request.patch(name, &PatchParams::default(), &patch))
                .await,
        )
    }

    /// Deletes an object; what is left of it, if it lives on for a while, is not returned.
    pub async fn delete<K: Object>(&self, name: &str) -> Outcome<()> {
        let request = self.requests::<K>(None);
        let deleted = self
            .send::<Value>(request.delete(name, &DeleteParams::default()))
            .await;
        Outcome::new(deleted.map(drop))
    }

    /// The named object, if there is one.
    ///
    /// # Panics
    /// The API server answered anything but the object or its absence.
    pub async fn get<K: Object>(&self, name: &str) -> Option<K> {
        let request = self.requests::<K>(None);
        match self.send(request.get(name, &GetParams::default())).await {
            Ok(object) => Some(object),
            Err(kube::Error::Api(status)) if status.is_not_found() => None,
            Err(error) => fail(format_args!("cannot get {} {name}: {error}", K::kind(&()))),
        }
    }

    /// Creates or changes an object of any kind, as `kubectl apply` would.
    pub async fn apply(&self, object: &Value) -> Outcome<Value> {
        Outcome::new(apply(&self.client, &self.namespace, object).await)
    }

    fn requests<K: Object>(&self, namespace: Option<&str>) -> Request {
        let namespaced = TypeId::of::<K::Scope>() == TypeId::of::<NamespaceResourceScope>();
        let namespace = namespaced.then(|| namespace.unwrap_or(&self.namespace));
        Request::new(K::url_path(&(), namespace))
    }

    async fn send<T: DeserializeOwned>(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> kube::Result<T> {
        self.client
            .request(request.map_err(kube::Error::BuildRequest)?)
            .await
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

fn json<K: Serialize>(object: &K) -> Vec<u8> {
    match serde_json::to_vec(object) {
        Ok(json) => json,
        Err(error) => fail(format_args!(
            "the object cannot be written as JSON: {error}"
        )),
    }
}

const DEFAULT_NAMESPACE: &str = "default";
