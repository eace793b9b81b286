//! Types of objects, references to objects, and which objects of a kind are meant.

use std::cmp::Ordering;
use std::fmt::{self, Debug, Display};
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use kube::core::{
    ApiResource, ClusterResourceScope, DynamicResourceScope, NamespaceScope, Resource,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A type of Kubernetes object that controllers and caches work with: every type of `k8s-openapi`, and custom ones that
/// derive `kube::CustomResource`.
///
/// ```
/// use k8s_openapi::api::{apps::v1::Deployment, core::v1::Node};
/// use kubewright_controller::{Kind, Object};
///
/// fn path<K: Object>() -> String {
///     format!("{}/{}", Kind::of::<K>().api_version(), Kind::of::<K>().plural())
/// }
///
/// assert_eq!(path::<Deployment>(), "apps/v1/deployments");
/// assert_eq!(path::<Node>(), "v1/nodes");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an object that a controller can work with",
    note = "an object implements kube's `Resource` (without a dynamic type) and serde's `Serialize` and `Deserialize`"
)]
pub trait Object: AnyObject + Resource<DynamicType = ()> {}

impl<K: AnyObject + Resource<DynamicType = ()>> Object for K {}

/// A type of object whose kind is a value, a [`Kind`](crate::Kind): `DynamicObject`, and `PartialObjectMeta` for its metadata alone.
///
/// ```
/// use kube::core::{DynamicObject, PartialObjectMeta};
/// use kubewright_controller::DynamicKind;
///
/// fn is_known_at_run_time<K: DynamicKind>() -> bool {
///     true
/// }
///
/// assert!(is_known_at_run_time::<DynamicObject>());
/// assert!(is_known_at_run_time::<PartialObjectMeta<DynamicObject>>());
/// ```
#[diagnostic::on_unimplemented(
    message = "the kind of `{Self}` is not a value",
    note = "use `DynamicObject`, or `PartialObjectMeta` for its metadata alone"
)]
pub trait DynamicKind: AnyObject + Resource<DynamicType = ApiResource> {}

impl<K: AnyObject + Resource<DynamicType = ApiResource>> DynamicKind for K {}

/// A type of Kubernetes object that handles work with, whether the type knows its kind ([`Object`]) or not ([`DynamicKind`]).
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube::core::DynamicObject;
/// use kubewright_controller::AnyObject;
///
/// fn name<K: AnyObject>(object: &K) -> &str {
///     object.meta().name.as_deref().unwrap_or_default()
/// }
///
/// let pod: Pod = kubewright_testing::yaml("metadata: {name: web}");
/// let widget: DynamicObject = kubewright_testing::yaml("{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}");
/// assert_eq!((name(&pod), name(&widget)), ("web", "a"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an object that a controller can work with",
    note = "an object implements kube's `Resource` and serde's `Serialize` and `Deserialize`"
)]
pub trait AnyObject:
    Resource<Scope: 'static> + Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> AnyObject for K where
    K: Resource<Scope: 'static>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// Namespace and name of an object; a cluster-scoped object has no namespace.
///
/// Keys are ordered by namespace, then by name.
///
/// ```
/// use kubewright_controller::Key;
///
/// let mut keys = [Key::new(Some("red"), "a"), Key::new(Some("blue"), "z"), Key::new(None, "node-1")];
/// keys.sort();
/// assert_eq!(keys.map(|key| key.to_string()), ["blue/z", "node-1", "red/a"]);
/// ```
// One text, because a cache compares, clones and keeps a great many of them. No name has a NUL, which comes before all
// that names have, so that the order is that of the parts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The namespace, a NUL and the name, or the name alone.
    text: Arc<str>,
    /// Where the name begins: at 0 if there is no namespace.
    name_at: usize,
}

impl Key {
    /// Creates a key from a namespace and a name.
    ///
    /// ```
    /// use kubewright_controller::Key;
    ///
    /// assert_eq!(Key::new(Some("blue"), "web").to_string(), "blue/web");
    /// assert_eq!(Key::new(None, "node-1").to_string(), "node-1");
    /// ```
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            Some(namespace) => Self {
                text: [namespace, "\0", name].concat().into(),
                name_at: namespace.len() + 1,
            },
            None => Self {
                text: name.into(),
                name_at: 0,
            },
        }
    }

    /// Returns the namespace, or `None` for a cluster-scoped object.
    ///
    /// ```
    /// use kubewright_controller::Key;
    ///
    /// assert_eq!(Key::new(Some("blue"), "web").namespace(), Some("blue"));
    /// assert_eq!(Key::new(None, "node-1").namespace(), None);
    /// ```
    pub fn namespace(&self) -> Option<&str> {
        let end = self.name_at.checked_sub(1)?;
        Some(&self.text[..end])
    }

    /// Returns the name.
    ///
    /// ```
    /// use kubewright_controller::Key;
    ///
    /// assert_eq!(Key::new(Some("blue"), "web").name(), "web");
    /// ```
    pub fn name(&self) -> &str {
        &self.text[self.name_at..]
    }
}

impl Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace() {
            Some(namespace) => write!(formatter, "{namespace}/{}", self.name()),
            None => formatter.write_str(self.name()),
        }
    }
}

impl Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Key")
            .field("namespace", &self.namespace())
            .field("name", &self.name())
            .finish()
    }
}

/// A reference to an object of one kind, which may exist or not.
///
/// Kinds that live in namespaces are referred to by `("namespace", "name")`, others by `"name"`; the compiler tells them
/// apart:
///
/// ```
/// use k8s_openapi::api::core::v1::{Namespace, Secret};
/// use kubewright_controller::ObjectRef;
///
/// let secret: ObjectRef<Secret> = ("blue", "tls").into();
/// let namespace: ObjectRef<Namespace> = "blue".into();
/// assert_eq!(secret.to_string(), "blue/tls");
/// assert_eq!(namespace.to_string(), "blue");
/// ```
///
/// Only while the program runs is it known where objects of a [`DynamicKind`] live: both forms refer to them.
pub struct ObjectRef<K> {
    key: Key,
    kind: PhantomData<fn() -> K>,
}

impl<K: AnyObject> ObjectRef<K> {
    /// Returns the reference to an object.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kubewright_controller::ObjectRef;
    /// use kubewright_testing::yaml;
    ///
    /// let secret: Secret = yaml("metadata: {namespace: blue, name: tls}");
    /// assert_eq!(ObjectRef::of(&secret), ("blue", "tls").into());
    /// ```
    pub fn of(object: &K) -> Self {
        let metadata = object.meta();
        Self::at(Key::new(
            metadata.namespace.as_deref(),
            metadata.name.as_deref().unwrap_or_default(),
        ))
    }
}

impl<K> ObjectRef<K> {
    pub(crate) fn at(key: Key) -> Self {
        Self {
            key,
            kind: PhantomData,
        }
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn into_key(self) -> Key {
        self.key
    }

    /// Returns the namespace, or `None` for a cluster-scoped kind.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{Node, Secret};
    /// use kubewright_controller::ObjectRef;
    ///
    /// let (secret, node): (ObjectRef<Secret>, ObjectRef<Node>) = (("blue", "tls").into(), "node-1".into());
    /// assert_eq!((secret.namespace(), node.namespace()), (Some("blue"), None));
    /// ```
    pub fn namespace(&self) -> Option<&str> {
        self.key.namespace()
    }

    /// Returns the name.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kubewright_controller::ObjectRef;
    ///
    /// let secret: ObjectRef<Secret> = ("blue", "tls").into();
    /// assert_eq!(secret.name(), "tls");
    /// ```
    pub fn name(&self) -> &str {
        self.key.name()
    }
}

/// The scopes whose objects may have no namespace: a reference to one is a name.
///
/// ```
/// use k8s_openapi::api::core::v1::Node;
/// use kube::core::{DynamicObject, Resource};
/// use kubewright_controller::ClusterScope;
///
/// fn is_referred_to_by_name<K: Resource<Scope: ClusterScope>>() -> bool {
///     true
/// }
///
/// assert!(is_referred_to_by_name::<Node>() && is_referred_to_by_name::<DynamicObject>());
/// ```
#[diagnostic::on_unimplemented(
    message = "objects of this kind live in namespaces: refer to one by (\"namespace\", \"name\")"
)]
pub trait ClusterScope {}

impl ClusterScope for ClusterResourceScope {}
impl ClusterScope for DynamicResourceScope {}

impl<K: Resource<Scope: ClusterScope>> From<&str> for ObjectRef<K> {
    fn from(name: &str) -> Self {
        Self::at(Key::new(None, name))
    }
}

impl<K: Resource<Scope: NamespaceScope>> From<(&str, &str)> for ObjectRef<K> {
    fn from((namespace, name): (&str, &str)) -> Self {
        Self::at(Key::new(Some(namespace), name))
    }
}

impl<K> Clone for ObjectRef<K> {
    fn clone(&self) -> Self {
        Self::at(self.key.clone())
    }
}

impl<K> Debug for ObjectRef<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ObjectRef({})", self.key)
    }
}

impl<K> Display for ObjectRef<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.key, formatter)
    }
}

impl<K> PartialEq for ObjectRef<K> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<K> Eq for ObjectRef<K> {}

impl<K> PartialOrd for ObjectRef<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> Ord for ObjectRef<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl<K> Hash for ObjectRef<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

/// Selects the objects of a kind by namespace, name and labels. Default: all objects.
///
/// ```
/// use kubewright_controller::Scope;
///
/// let scope = Scope::all().in_namespace("blue").labelled("app=web");
/// assert_eq!(scope.to_string(), "objects with labels app=web in blue");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) labels: Option<String>,
}

impl Scope {
    /// Selects all objects of a kind.
    ///
    /// ```
    /// use kubewright_controller::Scope;
    ///
    /// assert_eq!(Scope::all(), Scope::default());
    /// assert_eq!(Scope::all().to_string(), "objects");
    /// ```
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects the objects of one namespace. Cluster-scoped kinds ignore it.
    ///
    /// ```
    /// use kubewright_controller::Scope;
    ///
    /// assert_eq!(Scope::all().in_namespace("blue").to_string(), "objects in blue");
    /// ```
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Selects the objects of one name.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Connection, Reader, Scope};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use kubewright_testing::TestCluster;
    ///
    /// # let cluster = TestCluster::start().await;
    /// # let connection = Connection::new();
    /// # connection.open(cluster.client(), "gardener");
    /// let settings = Scope::all().in_namespace("default").named("settings");
    /// let reader: Reader<ConfigMap> = Reader::new(&connection, settings);
    /// assert!(reader.get(("default", "settings")).await?.is_none());
    /// assert!(reader.get(("default", "other")).await.unwrap_err().is_forbidden());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Selects the objects whose labels match a selector, such as `app=web,tier!=cache` or a `kube::core::Selector`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Connection, Reader, Scope};
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = TestCluster::start().await;
    /// for map in ["{name: a, labels: {app: web}}", "{name: b, labels: {app: web, tier: cache}}"] {
    ///     cluster.create::<ConfigMap>(&yaml(&format!("metadata: {map}"))).await.expect_allowed();
    /// }
    /// let connection = Connection::new();
    /// connection.open(cluster.client(), "gardener");
    /// let reader: Reader<ConfigMap> = Reader::new(&connection, Scope::all().labelled("app=web,tier!=cache"));
    /// let found = reader.list().await?;
    /// assert_eq!(found.len(), 1);
    /// assert_eq!(found[0].metadata.name.as_deref(), Some("a"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn labelled(mut self, selector: impl Display) -> Self {
        self.labels = Some(selector.to_string());
        self
    }

    /// Returns whether an object can be of this scope, as far as where it is tells.
    pub(crate) fn admits(&self, key: &Key) -> bool {
        self.admits_namespace(key.namespace()) && self.name().is_none_or(|name| name == key.name())
    }

    /// Returns whether objects of a namespace can be of this scope. Those without one are not narrowed by it.
    pub(crate) fn admits_namespace(&self, namespace: Option<&str>) -> bool {
        let (Some(own), Some(other)) = (self.namespace(), namespace) else {
            return true;
        };
        own == other
    }

    /// Returns the namespace of the scope, if it has one.
    ///
    /// ```
    /// use kubewright_controller::Scope;
    ///
    /// assert_eq!(Scope::all().in_namespace("blue").namespace(), Some("blue"));
    /// assert_eq!(Scope::all().namespace(), None);
    /// ```
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Returns the name of the scope, if it has one.
    ///
    /// ```
    /// use kubewright_controller::Scope;
    ///
    /// assert_eq!(Scope::all().named("settings").name(), Some("settings"));
    /// assert_eq!(Scope::all().name(), None);
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

impl Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("objects")?;
        if let Some(name) = &self.name {
            write!(formatter, " named {name}")?;
        }
        if let Some(labels) = &self.labels {
            write!(formatter, " with labels {labels}")?;
        }
        match &self.namespace {
            Some(namespace) => write!(formatter, " in {namespace}"),
            None => Ok(()),
        }
    }
}

/// A handle was used for an object that it was not asked for.
#[derive(Debug, thiserror::Error)]
#[error("the handle was asked for {0} alone")]
pub(crate) struct OutsideScope(pub(crate) Scope);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_admits_what_it_was_narrowed_to() {
        let key = |namespace, name| Key::new(namespace, name);
        let blue = Scope::all().in_namespace("blue");
        for (scope, key, admitted) in [
            (Scope::all(), key(Some("red"), "a"), true),
            (blue.clone(), key(Some("blue"), "a"), true),
            (blue.clone(), key(Some("red"), "a"), false),
            (blue.clone(), key(None, "a"), true),
            (blue.clone().named("a"), key(Some("blue"), "a"), true),
            (blue.clone().named("a"), key(Some("blue"), "b"), false),
            (Scope::all().named("a"), key(Some("red"), "a"), true),
        ] {
            assert_eq!(scope.admits(&key), admitted, "{scope}: {key}");
        }
    }

    #[test]
    fn a_scope_says_what_it_is() {
        assert_eq!(Scope::all().to_string(), "objects");
        let narrow = Scope::all().in_namespace("blue").named("a").labelled("x=y");
        assert_eq!(
            narrow.to_string(),
            "objects named a with labels x=y in blue"
        );
    }
}
