//! The requests that a test sends to its cluster.

use std::any::TypeId;
use std::fmt::Debug;

use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Request};
use kube::client::Body;
use kube::core::{NamespaceResourceScope, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::TestCluster;
use crate::apply::apply;
use crate::fail;
use crate::host::Host;
use crate::outcome::Outcome;

impl TestCluster {
    /// Creates an object in its namespace, or else in [the cluster's](Self::namespace).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let map: ConfigMap = yaml("{metadata: {name: web}, data: {mode: fast}}");
    /// let stored = cluster.create(&map).await.expect_allowed();
    /// assert_eq!(stored.metadata.namespace.as_deref(), Some(cluster.namespace()));
    /// assert_eq!(stored.data, map.data);
    /// # });
    /// ```
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

    /// Replaces an object, as `kubectl replace` does. An object that has a `resourceVersion` replaces only that version.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let map: ConfigMap = yaml("{metadata: {name: web}, data: {mode: fast}}");
    /// let mut map = cluster.create(&map).await.expect_allowed();
    /// map.data = Some([("mode".to_owned(), "slow".to_owned())].into());
    /// cluster.replace(&map).await.expect_allowed();
    ///
    /// let status = cluster.replace(&map).await.expect_status();
    /// assert!(status.is_conflict(), "the object has been changed since it was read");
    /// # });
    /// ```
    pub async fn replace<K: Object>(&self, object: &K) -> Outcome<K> {
        let name = object.meta().name.as_deref().unwrap_or_default();
        let request = self.requests::<K>(object.meta().namespace.as_deref());
        Outcome::new(
            self.ask(request.replace(name, &PostParams::default(), self.body(object)))
                .await,
        )
    }

    /// Changes an object by a JSON merge patch.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_testing::{TestCluster, yaml};
    /// use serde_json::json;
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let map: ConfigMap = yaml("{metadata: {name: web}, data: {mode: fast, size: '3'}}");
    /// cluster.create(&map).await.expect_allowed();
    /// let patch = json!({"data": {"mode": "slow", "size": null}});
    /// let map: ConfigMap = cluster.merge("web", &patch).await.expect_allowed();
    /// assert_eq!(map.data.unwrap(), [("mode".to_owned(), "slow".to_owned())].into());
    /// # });
    /// ```
    pub async fn merge<K: Object>(&self, name: &str, patch: &Value) -> Outcome<K> {
        let request = self.requests::<K>(None);
        let patch = Patch::Merge(patch);
        Outcome::new(
            self.ask(request.patch(name, &PatchParams::default(), &patch))
                .await,
        )
    }

    /// Deletes an object. An object with finalizers is marked for deletion and stays until the last one is removed.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let map: ConfigMap = yaml("metadata: {name: web, finalizers: [example.com/cleanup]}");
    /// cluster.create(&map).await.expect_allowed();
    /// cluster.delete::<ConfigMap>("web").await.expect_allowed();
    /// let map = cluster.get::<ConfigMap>("web").await.unwrap();
    /// assert!(map.metadata.deletion_timestamp.is_some());
    /// # });
    /// ```
    pub async fn delete<K: Object>(&self, name: &str) -> Outcome<()> {
        let request = self.requests::<K>(None);
        let deleted = self
            .ask::<Value>(request.delete(name, &DeleteParams::default()))
            .await;
        Outcome::new(deleted.map(drop))
    }

    /// Returns the named object, or none if it does not exist.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
    /// use kubewright_testing::TestCluster;
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// assert!(cluster.get::<Namespace>(cluster.namespace()).await.is_some());
    /// assert!(cluster.get::<ConfigMap>("web").await.is_none());
    /// # });
    /// ```
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

    /// Creates an object of any kind, or changes the existing one by a JSON merge patch. The kind is read from the object.
    ///
    /// ```
    /// use kubewright_testing::TestCluster;
    /// use serde_json::json;
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let lease = json!({
    ///     "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
    ///     "metadata": {"name": "leader"}, "spec": {"holderIdentity": "a"},
    /// });
    /// cluster.apply(&lease).await.expect_allowed();
    /// let again = cluster.apply(&lease).await.expect_allowed();
    /// assert_eq!(again["spec"]["holderIdentity"], "a");
    /// # });
    /// ```
    pub async fn apply(&self, object: &Value) -> Outcome<Value> {
        let mut object = object.clone();
        self.running.host.mark(&mut object);
        Outcome::new(apply(&self.client, &self.namespace, &object).await)
    }

    /// Sends an HTTP request unchanged and returns the response unchanged, errors included.
    ///
    /// ```
    /// use kubewright_testing::TestCluster;
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let version = http::Request::get("/version").body(Vec::new()).unwrap();
    /// assert_eq!(cluster.send(version).await.status(), 200);
    /// let unknown = http::Request::get("/apis/example.com/v1").body(Vec::new()).unwrap();
    /// assert_eq!(cluster.send(unknown).await.status(), 404);
    /// # });
    /// ```
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

/// A type of Kubernetes object that a test can work with: every type of `k8s-openapi`, and custom resources that derive
/// `kube::CustomResource`.
///
/// A bound for functions that tests share:
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_testing::{Object, TestCluster, yaml};
///
/// /// Creates an object and returns the UID that the API server gave it.
/// async fn uid<K: Object>(cluster: &TestCluster, object: &K) -> String {
///     let stored = cluster.create(object).await.expect_allowed();
///     stored.meta().uid.clone().unwrap()
/// }
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let cluster = TestCluster::start().await;
/// let (a, b) = (yaml("metadata: {name: a}"), yaml("metadata: {name: b}"));
/// assert_ne!(uid::<ConfigMap>(&cluster, &a).await, uid::<ConfigMap>(&cluster, &b).await);
/// # });
/// ```
pub trait Object:
    Resource<DynamicType = (), Scope: 'static> + Clone + Debug + Serialize + DeserializeOwned
{
}

impl<K> Object for K where
    K: Resource<DynamicType = (), Scope: 'static> + Clone + Debug + Serialize + DeserializeOwned
{
}
