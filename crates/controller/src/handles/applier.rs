//! Server-side apply.

use std::fmt;

use kube::core::params::{Patch, PatchParams};
use serde_json::value::RawValue;

use super::kind_of::KindOf;
use super::request::{ask_about, requests, typed};
use crate::{AnyObject, Connection, DynamicKind, Kind, Object, ObjectRef, RequestError, Scope};

/// Applies objects of a kind with server-side apply: sets the fields that the object has, and leaves the others alone.
/// Clones are cheap.
///
/// The field manager is the program. It takes over fields that another field manager owns, as Kubernetes advises
/// controllers to do; [`apply_unless_managed`](Self::apply_unless_managed) leaves them alone.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Applier, Scope};
/// use kubewright_testing::yaml;
#[doc = include_str!("example.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (cluster, connection) = connected().await;
/// cluster.create(&settings("quiet")).await.expect_allowed();
/// let applier: Applier<ConfigMap> = Applier::new(&connection, Scope::all());
/// let colour = yaml("{metadata: {namespace: default, name: settings}, data: {colour: green}}");
/// let data = applier.apply(&colour).await?.data.unwrap();
/// assert_eq!((&*data["mode"], &*data["colour"]), ("quiet", "green"));
/// # Ok(())
/// # }
/// ```
pub struct Applier<K> {
    connection: Connection,
    scope: Scope,
    kind: KindOf<K>,
}

impl<K: Object> Applier<K> {
    /// Creates a handle for the objects of a scope.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Applier, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, connection) = connected().await;
    /// let applier: Applier<ConfigMap> = Applier::new(&connection, Scope::all().named("other"));
    /// assert!(applier.apply(&settings("quiet")).await.unwrap_err().is_forbidden());
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

impl<K: DynamicKind> Applier<K> {
    /// Creates a handle for the objects of a scope, of a kind that is known only while the program runs.
    ///
    /// ```
    /// use kube::core::DynamicObject;
    /// use kubewright_controller::{Applier, Connection, Kind, Scope};
    /// use kubewright_testing::TestCluster;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = TestCluster::start().await;
    /// let connection = Connection::new();
    /// connection.open(cluster.client(), "gardener");
    /// let kind = Kind::namespaced("v1", "ConfigMap", "configmaps")?;
    /// let applier: Applier<DynamicObject> = Applier::dynamic(&connection, &kind, Scope::all());
    /// let map = DynamicObject::new("settings", kind.resource()).within("default").data(serde_json::json!({"data": {"mode": "quiet"}}));
    /// assert_eq!(applier.apply(&map).await?.data["data"]["mode"], "quiet");
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

impl<K: AnyObject> Applier<K> {
    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Applies an object, and returns it as stored. Takes over fields that another field manager owns. An object that already has
    /// these values is not written.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Applier, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, connection) = connected().await;
    /// let applier: Applier<ConfigMap> = Applier::new(&connection, Scope::all());
    /// let first = applier.apply(&settings("quiet")).await?;
    /// let second = applier.apply(&settings("quiet")).await?;
    /// assert_eq!(first.metadata.resource_version, second.metadata.resource_version);
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
    /// Dropping the future leaves open whether the object is applied.
    pub async fn apply(&self, object: &K) -> Result<K, RequestError> {
        self.send(object, true).await
    }

    /// Applies an object, unless another field manager owns one of its fields with another value.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Applier, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, connection) = connected().await;
    /// cluster.create(&settings("quiet")).await.expect_allowed();
    /// let applier: Applier<ConfigMap> = Applier::new(&connection, Scope::all());
    /// assert!(applier.apply_unless_managed(&settings("loud")).await.unwrap_err().is_conflict());
    /// applier.apply_unless_managed(&settings("quiet")).await?; // the same value: no conflict
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If there is such a conflict, or the API server rejects the request or does not respond.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is applied.
    pub async fn apply_unless_managed(&self, object: &K) -> Result<K, RequestError> {
        self.send(object, false).await
    }

    async fn send(&self, object: &K, force: bool) -> Result<K, RequestError> {
        let reference = ObjectRef::of(object);
        let key = reference.key();
        let link = self.connection.link().await;
        let mut parameters = PatchParams::apply(&link.program);
        parameters.force = force;
        let json = typed("apply", &self.kind, object, key)?;
        let unreadable = |error| {
            let error = kube::Error::SerdeError(error);
            RequestError::new("apply", &self.kind, key, error)
        };
        let json: &RawValue = serde_json::from_slice(&json).map_err(unreadable)?;
        let patch = Patch::Apply(json);
        let request = requests(&self.kind, key).patch(key.name(), &parameters, &patch);
        ask_about(link, &self.scope, "apply", &self.kind, key, request).await
    }
}

impl<K> Clone for Applier<K> {
    fn clone(&self) -> Self {
        Self {
            connection: self.connection.clone(),
            scope: self.scope.clone(),
            kind: self.kind.clone(),
        }
    }
}

impl<K> fmt::Debug for Applier<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Applier")
            .field(&self.connection)
            .finish()
    }
}
