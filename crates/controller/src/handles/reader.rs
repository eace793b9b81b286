//! Reading from the API server itself.

use std::fmt;

use kube::core::ObjectList;
use kube::core::Request as Requests;
use kube::core::params::{GetParams, ListParams};

use super::kind_of::KindOf;
use super::request::{ask, requests};
use crate::{AnyObject, Connection, DynamicKind, Kind, Object, ObjectRef, RequestError, Scope};

/// Reads objects of a kind from the API server, not from a cache. Clones are cheap.
///
/// Every call is a request: a [`Cached`](crate::Cached) is the better choice for whatever is read often.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Reader, Scope};
#[doc = include_str!("example.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (cluster, connection) = connected().await;
/// let reader: Reader<ConfigMap> = Reader::new(&connection, Scope::all());
/// assert!(reader.get(("default", "settings")).await?.is_none());
/// cluster.create(&settings("quiet")).await.expect_allowed();
/// // A cache might not have seen the object yet.
/// assert!(reader.get(("default", "settings")).await?.is_some());
/// # Ok(())
/// # }
/// ```
pub struct Reader<K> {
    connection: Connection,
    scope: Scope,
    kind: KindOf<K>,
}

impl<K: Object> Reader<K> {
    /// Creates a handle for the objects of a scope.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Reader, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, connection) = connected().await;
    /// cluster.create(&settings("quiet")).await.expect_allowed();
    /// let reader: Reader<ConfigMap> = Reader::new(&connection, Scope::all().in_namespace("kube-system"));
    /// assert!(reader.get(("default", "settings")).await.unwrap_err().is_forbidden());
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(connection: &Connection, scope: Scope) -> Self {
        Self {
            connection: connection.clone(),
            scope,
            kind: KindOf::type_(),
        }
    }
}

impl<K: DynamicKind> Reader<K> {
    /// Creates a handle for the objects of a scope, of a kind that is known only while the program runs.
    ///
    /// ```
    /// use kube::core::DynamicObject;
    /// use kubewright_controller::{Reader, Connection, Kind, Scope};
    /// use kubewright_testing::TestCluster;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = TestCluster::start().await;
    /// let connection = Connection::new();
    /// connection.open(cluster.client(), "gardener");
    /// let kind = Kind::namespaced("v1", "ConfigMap", "configmaps")?;
    /// let reader: Reader<DynamicObject> = Reader::dynamic(&connection, &kind, Scope::all().in_namespace("kube-system"));
    /// let maps = reader.list().await?;
    /// assert!(maps.iter().any(|map| map.data["data"]["client-ca-file"].is_string()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn dynamic(connection: &Connection, kind: &Kind, scope: Scope) -> Self {
        Self {
            connection: connection.clone(),
            scope,
            kind: KindOf::value(kind),
        }
    }
}

impl<K: AnyObject> Reader<K> {
    /// Returns an object, or `None` if it does not exist.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
    /// use kubewright_controller::{Reader, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, connection) = connected().await;
    /// cluster.create(&settings("quiet")).await.expect_allowed();
    /// let maps: Reader<ConfigMap> = Reader::new(&connection, Scope::all());
    /// assert_eq!(maps.get(("default", "settings")).await?.unwrap().data.unwrap()["mode"], "quiet");
    /// let namespaces: Reader<Namespace> = Reader::new(&connection, Scope::all());
    /// assert!(namespaces.get("green").await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the API server rejects the request or does not respond.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn get(&self, object: impl Into<ObjectRef<K>>) -> Result<Option<K>, RequestError> {
        let reference = object.into();
        let key = reference.key();
        RequestError::unless_within(&self.scope, "get", &self.kind, key)?;
        let link = self.connection.link().await;
        let request = requests(&self.kind, key).get(key.name(), &GetParams::default());
        match ask(&link.client, self.kind.asks_for_object(request)).await {
            Ok(object) => Ok(Some(object)),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
            Err(error) => Err(RequestError::new("get", &self.kind, key, error)),
        }
    }

    /// Returns all objects of the scope, read in pages of 500.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Reader, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, connection) = connected().await;
    /// cluster.create(&settings("quiet")).await.expect_allowed();
    /// let reader: Reader<ConfigMap> = Reader::new(&connection, Scope::all().named("settings"));
    /// assert_eq!(reader.list().await?.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the API server rejects the request or does not respond.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn list(&self) -> Result<Vec<K>, RequestError> {
        let kind = &self.kind;
        let link = self.connection.link().await;
        let requests = Requests::new(kind.path(self.scope.namespace()));
        let mut page = ListParams::default().limit(PAGE);
        page.label_selector.clone_from(&self.scope.labels);
        page.field_selector = self
            .scope
            .name()
            .map(|name| format!("metadata.name={name}"));
        let mut all = Vec::new();
        loop {
            let list: ObjectList<K> = ask(&link.client, kind.asks_for_list(requests.list(&page)))
                .await
                .map_err(|error| RequestError::of_list(kind, error))?;
            all.extend(list.items);
            page.continue_token = list.metadata.continue_.filter(|token| !token.is_empty());
            if page.continue_token.is_none() {
                return Ok(all);
            }
        }
    }
}

impl<K> Clone for Reader<K> {
    fn clone(&self) -> Self {
        Self {
            connection: self.connection.clone(),
            scope: self.scope.clone(),
            kind: self.kind.clone(),
        }
    }
}

impl<K> fmt::Debug for Reader<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Reader").field(&self.scope).finish()
    }
}

const PAGE: u32 = 500;
