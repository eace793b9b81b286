//! Kinds of objects, references to objects, and which objects of a kind are meant.

use std::any::TypeId;
use std::cmp::Ordering;
use std::fmt::{self, Debug, Display};
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use kube::core::{
    ApiResource, ClusterResourceScope, DynamicObject, NamespaceResourceScope, Resource,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A type of Kubernetes object that controllers and caches work with: every type of `k8s-openapi`, and custom ones that
/// derive `kube::CustomResource`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an object that a controller can work with",
    note = "an object implements kube's `Resource` (without a dynamic type) and serde's `Serialize` and `Deserialize`"
)]
pub trait Object:
    Resource<DynamicType = (), Scope: 'static>
    + Clone
    + Debug
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> Object for K where
    K: Resource<DynamicType = (), Scope: 'static>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// What a type of object says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    resource: ApiResource,
    is_namespaced: bool,
}

impl Kind {
    /// Returns the kind of a type.
    pub fn of<K: Object>() -> Self {
        Self {
            resource: ApiResource::erase::<K>(&()),
            is_namespaced: TypeId::of::<K::Scope>() == TypeId::of::<NamespaceResourceScope>(),
        }
    }

    /// Returns the name, such as `Deployment`.
    pub fn name(&self) -> &str {
        &self.resource.kind
    }

    /// Returns the API group, which is empty for the core kinds.
    pub fn group(&self) -> &str {
        &self.resource.group
    }

    /// Returns the name in paths and rules, such as `deployments`.
    pub fn plural(&self) -> &str {
        &self.resource.plural
    }

    /// Returns group and version, such as `apps/v1`.
    pub fn api_version(&self) -> &str {
        &self.resource.api_version
    }

    /// Returns whether objects of this kind live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.is_namespaced
    }

    pub(crate) fn path(&self, namespace: Option<&str>) -> String {
        let namespace = namespace.filter(|_| self.is_namespaced);
        DynamicObject::url_path(&self.resource, namespace)
    }

    pub(crate) fn reference(&self, key: &Key) -> String {
        format!("{} {key}", self.name())
    }
}

impl Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group() {
            "" => formatter.write_str(self.plural()),
            group => write!(formatter, "{}.{group}", self.plural()),
        }
    }
}

/// Where an object is: its namespace, if its kind has them, and its name.
///
/// Keys are ordered by namespace, then by name.
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
    /// Makes a key of a namespace and a name.
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

    /// Returns the namespace.
    pub fn namespace(&self) -> Option<&str> {
        let end = self.name_at.checked_sub(1)?;
        Some(&self.text[..end])
    }

    /// Returns the name.
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
pub struct ObjectRef<K> {
    key: Key,
    kind: PhantomData<fn() -> K>,
}

impl<K: Object> ObjectRef<K> {
    /// Returns the reference to an object.
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

    /// Returns the namespace, which kinds without namespaces do not have.
    pub fn namespace(&self) -> Option<&str> {
        self.key.namespace()
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        self.key.name()
    }
}

impl<K: Resource<Scope = ClusterResourceScope>> From<&str> for ObjectRef<K> {
    fn from(name: &str) -> Self {
        Self::at(Key::new(None, name))
    }
}

impl<K: Resource<Scope = NamespaceResourceScope>> From<(&str, &str)> for ObjectRef<K> {
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

/// Which objects of a kind: all of them unless narrowed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) labels: Option<String>,
}

impl Scope {
    /// Returns the scope of all objects.
    pub fn all() -> Self {
        Self::default()
    }

    /// Keeps to one namespace. Kinds without namespaces are not narrowed by it.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Keeps to the objects of one name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Keeps to objects whose labels match a selector, such as `app=web,tier!=cache` or a `kube::core::Selector`.
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

    /// Returns the namespace that this scope keeps to.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Returns the name that this scope keeps to.
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
