//! Writing objects, all in one or one verb alone.

use std::fmt;

use kube::core::params::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::Value;

use super::kind_of::KindOf;
use super::request::{ask_about, body, requests, send};
use crate::informer::Deletion;
use crate::{AnyObject, Connection, DynamicKind, Kind, Object, ObjectRef, RequestError, Scope};

/// Creates, updates, patches and deletes objects of a kind. Clones are cheap.
///
/// Where less is enough there are handles with less: [`Applier`](crate::Applier), [`StatusWriter`](crate::StatusWriter) and
/// [`Deleter`].
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Scope, Writer};
#[doc = include_str!("example.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (cluster, connection) = connected().await;
/// let writer: Writer<ConfigMap> = Writer::new(&connection, Scope::all());
/// let mut map = writer.create(&settings("quiet")).await?;
/// map.data = Some([("mode".into(), "loud".into())].into());
/// writer.replace(&map).await?;
/// let stored: ConfigMap = cluster.get("settings").await.unwrap();
/// assert_eq!(stored.data, map.data);
/// # Ok(())
/// # }
/// ```
pub struct Writer<K>(Handle<K>);

/// Deletes objects of a kind, and has no other verb. Clones are cheap.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Deleter, Scope};
#[doc = include_str!("example.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (cluster, connection) = connected().await;
/// let map = cluster.create(&settings("quiet")).await.expect_allowed();
/// let deleter: Deleter<ConfigMap> = Deleter::new(&connection, Scope::all());
/// deleter.delete(&map).await?;
/// deleter.delete(&map).await?; // already gone: not an error
/// assert!(cluster.get::<ConfigMap>("settings").await.is_none());
/// # Ok(())
/// # }
/// ```
pub struct Deleter<K>(Handle<K>);

pub(super) struct Handle<K> {
    pub(super) connection: Connection,
    scope: Scope,
    pub(super) kind: KindOf<K>,
}

impl<K: Object> Writer<K> {
    /// Creates a handle for the objects of a scope.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Scope, Writer};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, connection) = connected().await;
    /// let writer: Writer<ConfigMap> = Writer::new(&connection, Scope::all().named("other"));
    /// // The handle refuses what is outside of its scope.
    /// assert!(writer.create(&settings("quiet")).await.unwrap_err().is_forbidden());
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(connection: &Connection, scope: Scope) -> Self {
        Self(Handle::new(connection, scope, KindOf::type_()))
    }
}

impl<K: DynamicKind> Writer<K> {
    /// Creates a handle for the objects of a scope, of a kind that is known only while the program runs.
    ///
    /// ```
    /// use kube::core::DynamicObject;
    /// use kubewright_controller::{Writer, Connection, Kind, Scope};
    /// use kubewright_testing::TestCluster;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = TestCluster::start().await;
    /// let connection = Connection::new();
    /// connection.open(cluster.client(), "gardener");
    /// let kind = Kind::namespaced("v1", "ConfigMap", "configmaps")?;
    /// let writer: Writer<DynamicObject> = Writer::dynamic(&connection, &kind, Scope::all());
    /// let map = DynamicObject::new("settings", kind.resource()).within("default");
    /// writer.create(&map).await?;
    /// let map = writer.merge(("default", "settings"), &serde_json::json!({"data": {"mode": "quiet"}})).await?;
    /// assert_eq!(map.data["data"]["mode"], "quiet");
    /// # Ok(())
    /// # }
    /// ```
    pub fn dynamic(connection: &Connection, kind: &Kind, scope: Scope) -> Self {
        Self(Handle::new(connection, scope, KindOf::value(kind)))
    }
}

impl<K: AnyObject> Writer<K> {
    /// Creates an object, and returns it as stored.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Scope, Writer};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, connection) = connected().await;
    /// let writer: Writer<ConfigMap> = Writer::new(&connection, Scope::all());
    /// assert!(writer.create(&settings("quiet")).await?.metadata.uid.is_some());
    /// assert!(writer.create(&settings("loud")).await.unwrap_err().is_already_exists());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If there is such an object already, or the API server rejects the request or does not respond.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is created.
    pub async fn create(&self, object: &K) -> Result<K, RequestError> {
        let reference = ObjectRef::of(object);
        let key = reference.key();
        let parameters = self.0.post().await;
        let body = body("create", &self.0.kind, object, key)?;
        self.0
            .ask(
                "create",
                &reference,
                requests(&self.0.kind, key).create(&parameters, body),
            )
            .await
    }

    /// Replaces an object (the verb `update`). If `metadata.resourceVersion` is set, a concurrent change is a conflict.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Scope, Writer};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, connection) = connected().await;
    /// let writer: Writer<ConfigMap> = Writer::new(&connection, Scope::all());
    /// let read = writer.create(&settings("quiet")).await?;
    /// writer.replace(&settings("loud")).await?; // without a resource version
    /// let mut stale = read;
    /// stale.data = Some([("mode".into(), "shrill".into())].into());
    /// assert!(writer.replace(&stale).await.unwrap_err().is_conflict());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the object has been changed or is gone, or the API server rejects the request or does not respond.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is replaced.
    pub async fn replace(&self, object: &K) -> Result<K, RequestError> {
        let reference = ObjectRef::of(object);
        let key = reference.key();
        let parameters = self.0.post().await;
        let body = body("update", &self.0.kind, object, key)?;
        let request = requests(&self.0.kind, key).replace(key.name(), &parameters, body);
        self.0.ask("update", &reference, request).await
    }

    /// Patches an object with a JSON merge patch (RFC 7396), and returns it as stored.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Scope, Writer};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, connection) = connected().await;
    /// let writer: Writer<ConfigMap> = Writer::new(&connection, Scope::all());
    /// writer.create(&settings("quiet")).await?;
    /// let patch = serde_json::json!({"data": {"mode": null, "colour": "green"}});
    /// let patched = writer.merge(("default", "settings"), &patch).await?;
    /// assert_eq!(patched.data, Some([("colour".to_owned(), "green".to_owned())].into()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the object is gone, or the API server rejects the request or does not respond.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is changed.
    pub async fn merge(
        &self,
        object: impl Into<ObjectRef<K>>,
        patch: &Value,
    ) -> Result<K, RequestError> {
        let reference = object.into();
        let key = reference.key();
        let parameters = self.0.patch().await;
        let request =
            requests(&self.0.kind, key).patch(key.name(), &parameters, &Patch::Merge(patch));
        self.0.ask("patch", &reference, request).await
    }

    /// Deletes an object, but not another one that was created with its name since. A missing object is not an error.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Scope, Writer};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, connection) = connected().await;
    /// let writer: Writer<ConfigMap> = Writer::new(&connection, Scope::all());
    /// let map = writer.create(&settings("quiet")).await?;
    /// writer.delete(&map).await?;
    /// assert!(cluster.get::<ConfigMap>("settings").await.is_none());
    ///
    /// writer.create(&settings("quiet")).await?;
    /// assert!(writer.delete(&map).await.unwrap_err().is_conflict(), "another UID");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If another object bears the name, or the API server rejects the request or does not respond.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is deleted.
    pub async fn delete(&self, object: &K) -> Result<(), RequestError> {
        self.0.delete(object).await
    }
}

impl<K: Object> Deleter<K> {
    /// Creates a handle for the objects of a scope.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Deleter, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, connection) = connected().await;
    /// let map = cluster.create(&settings("quiet")).await.expect_allowed();
    /// let deleter: Deleter<ConfigMap> = Deleter::new(&connection, Scope::all().in_namespace("blue"));
    /// assert!(deleter.delete(&map).await.unwrap_err().is_forbidden());
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(connection: &Connection, scope: Scope) -> Self {
        Self(Handle::new(connection, scope, KindOf::type_()))
    }
}

impl<K: DynamicKind> Deleter<K> {
    /// Creates a handle for the objects of a scope, of a kind that is known only while the program runs.
    pub fn dynamic(connection: &Connection, kind: &Kind, scope: Scope) -> Self {
        Self(Handle::new(connection, scope, KindOf::value(kind)))
    }
}

impl<K: AnyObject> Deleter<K> {
    /// Deletes an object, but not another one that was created with its name since. A missing object is not an error.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Deleter, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, connection) = connected().await;
    /// let map = cluster.create(&settings("quiet")).await.expect_allowed();
    /// Deleter::new(&connection, Scope::all()).delete(&map).await?;
    /// assert!(cluster.get::<ConfigMap>("settings").await.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If another object bears the name, or the API server rejects the request or does not respond.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is deleted.
    pub async fn delete(&self, object: &K) -> Result<(), RequestError> {
        self.0.delete(object).await
    }

    /// Deletes an object unless it was changed since it was read: the reason for the deletion may be gone.
    ///
    /// ```
    /// use kubewright_controller::{Deleter, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, connection) = connected().await;
    /// let read = cluster.create(&settings("quiet")).await.expect_allowed();
    /// let changed = cluster.replace(&settings("loud")).await.expect_allowed();
    /// let deleter = Deleter::new(&connection, Scope::all());
    /// assert!(deleter.delete_unchanged(&read).await.unwrap_err().is_conflict());
    /// deleter.delete_unchanged(&changed).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the object has been changed, another one bears its name, or the API server rejects the request or does not respond.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is deleted.
    pub async fn delete_unchanged(&self, object: &K) -> Result<(), RequestError> {
        let version = object.meta().resource_version.clone();
        self.0.delete_if(object, version).await
    }
}

impl<K: AnyObject> Handle<K> {
    pub(super) fn new(connection: &Connection, scope: Scope, kind: KindOf<K>) -> Self {
        Self {
            connection: connection.clone(),
            scope,
            kind,
        }
    }

    async fn post(&self) -> PostParams {
        PostParams {
            field_manager: Some(self.connection.link().await.program.to_string()),
            ..PostParams::default()
        }
    }

    pub(super) async fn patch(&self) -> PatchParams {
        PatchParams {
            field_manager: Some(self.connection.link().await.program.to_string()),
            ..PatchParams::default()
        }
    }

    pub(super) async fn ask(
        &self,
        verb: &str,
        object: &ObjectRef<K>,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<K, RequestError> {
        let link = self.connection.link().await;
        ask_about(link, &self.scope, verb, &self.kind, object.key(), request).await
    }

    async fn delete(&self, object: &K) -> Result<(), RequestError> {
        self.delete_if(object, None).await
    }

    async fn delete_if(
        &self,
        object: &K,
        resource_version: Option<String>,
    ) -> Result<(), RequestError> {
        let (kind, reference) = (&*self.kind, ObjectRef::of(object));
        let (key, metadata) = (reference.key(), object.meta());
        let link = self.connection.link().await;
        RequestError::unless_leading(DELETE, kind, key)?;
        RequestError::unless_within(&self.scope, DELETE, kind, key)?;
        let mut parameters = DeleteParams::background();
        if let Some(uid) = &metadata.uid {
            parameters = parameters.preconditions(Preconditions {
                uid: Some(uid.clone()),
                resource_version,
            });
        }
        let request = requests(kind, key).delete(key.name(), &parameters);
        let response = match send(&link.client, request).await {
            Ok(response) => Some(response),
            Err(kube::Error::Api(status)) if status.is_not_found() => None,
            Err(error) => return Err(RequestError::new(DELETE, kind, key, error)),
        };
        let deletion = Deletion {
            key,
            uid: metadata.uid.as_deref(),
            version: metadata.resource_version.as_deref(),
        };
        link.informers
            .take_deletion(kind, deletion, response.as_deref());
        Ok(())
    }
}

const DELETE: &str = "delete";

impl<K> Clone for Handle<K> {
    fn clone(&self) -> Self {
        Self {
            connection: self.connection.clone(),
            scope: self.scope.clone(),
            kind: self.kind.clone(),
        }
    }
}

impl<K> Clone for Writer<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Clone for Deleter<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> fmt::Debug for Writer<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Writer")
            .field(&self.0.connection)
            .finish()
    }
}

impl<K> fmt::Debug for Deleter<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Deleter")
            .field(&self.0.connection)
            .finish()
    }
}
