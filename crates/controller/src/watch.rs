//! What a controller watches besides its own objects.

use std::fmt;
use std::sync::Arc;

use kube::core::{
    ClusterResourceScope, DynamicObject, DynamicResourceScope, NamespaceResourceScope,
};
use serde::Deserialize;

use crate::handles::Undecodable;
use crate::informer::{Delta, Entry, Owner};
use crate::predicate::Filter;
use crate::{AnyObject, DynamicKind, Key, Kind, Object, ObjectRef, Predicate, Scope};

/// Objects that a controller watches: a change of one reconciles objects of the controller.
pub struct Watch<K> {
    pub(crate) kind: Kind,
    pub(crate) scope: Scope,
    pub(crate) is_optional: bool,
    pub(crate) filter: Box<dyn Filter>,
    /// Whether the metadata alone says which objects a change concerns, without a call of the user's function.
    pub(crate) is_quick: bool,
    map: Map<K>,
}

/// Finds the objects of the controller, whose kind it receives, that a watched object concerns.
type Map<K> =
    Arc<dyn Fn(&Kind, &Entry) -> Result<Vec<ObjectRef<K>>, serde_json::Error> + Send + Sync>;

/// Watches the objects that those of the controller own.
#[derive(Clone, Debug)]
#[must_use]
pub struct Owned<T> {
    kind: Kind,
    scope: Scope,
    is_optional: bool,
    by_any: bool,
    predicate: Predicate<T>,
}

/// Watches objects that are related to those of the controller.
#[must_use]
pub struct Related<T, K> {
    kind: Kind,
    scope: Scope,
    is_optional: bool,
    predicate: Predicate<T>,
    map: Map<K>,
}

/// Watches the objects of a kind that the controller's objects own: a change reconciles the owner, which is the one whose
/// owner reference has `controller: true`.
pub fn owned<T: Object>() -> Owned<T> {
    Owned::of(Kind::of::<T>())
}

/// Watches objects that are related to the controller's objects: a function maps each watched object to those.
///
/// The function is called with the object before and after the change. While it runs, other changes that this controller
/// watches wait; changes for caches and other controllers do not, unless a thousand wait already. It may read caches, and
/// makes no requests.
pub fn related<T, K, References>(
    map: impl Fn(&T) -> References + Send + Sync + 'static,
) -> Related<T, K>
where
    T: Object,
    References: IntoIterator<Item = ObjectRef<K>>,
{
    Related::of(Kind::of::<T>(), map)
}

impl<T: DynamicKind> Owned<T> {
    /// Watches the objects of a kind that is known only while the program runs, as [`owned`] does for a type.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::core::DynamicObject;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error, Kind, Owned, Scope};
    /// # async fn reconcile(_: Arc<ConfigMap>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    ///
    /// let kind = Kind::namespaced("example.com/v1", "Widget", "widgets")?;
    /// let widgets = Owned::<DynamicObject>::dynamic(&kind).optional();
    /// let controller = AnyController::from(Controller::new("maps", reconcile).watch(widgets));
    /// assert_eq!(controller.watched()[1], (kind, Scope::all()));
    /// # Ok::<(), kubewright_controller::InvalidKind>(())
    /// ```
    pub fn dynamic(kind: &Kind) -> Self {
        Self::of(kind.read_as::<T>())
    }
}

impl<T> Owned<T> {
    fn of(kind: Kind) -> Self {
        Self {
            kind,
            scope: Scope::all(),
            is_optional: false,
            by_any: false,
            predicate: Predicate::any_change(),
        }
    }

    /// Reconciles each owner of an object, and not only the one whose reference has `controller: true`: for objects that have
    /// [several owners](crate::Context::share).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kubewright_controller::{Watch, owned};
    ///
    /// let shared: Watch<ConfigMap> = owned::<Secret>().by_any_owner().into();
    /// # let _ = shared;
    /// ```
    pub fn by_any_owner(mut self) -> Self {
        self.by_any = true;
        self
    }

    /// Does not require that the API server serves the kind: see [`Controller::optional`](crate::Controller::optional).
    pub fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }

    /// Watches only these.
    pub fn within(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Heeds only changes that match the predicate. Default: any change.
    pub fn filter(mut self, predicate: Predicate<T>) -> Self {
        self.predicate = predicate;
        self
    }
}

impl<T: DynamicKind, K> Related<T, K> {
    /// Watches objects of a kind that is known only while the program runs, as [`related`] does for a type. The function takes
    /// a `DynamicObject`, or a `PartialObjectMeta` for its metadata alone.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::core::PartialObjectMeta;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error, Kind, ObjectRef, Related};
    /// # async fn reconcile(_: Arc<ConfigMap>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    ///
    /// fn settings(widget: &PartialObjectMeta) -> Option<ObjectRef<ConfigMap>> {
    ///     let namespace = widget.metadata.namespace.as_deref()?;
    ///     Some((namespace, "settings").into())
    /// }
    ///
    /// let kind = Kind::namespaced("example.com/v1", "Widget", "widgets")?;
    /// let controller = Controller::new("maps", reconcile).watch(Related::dynamic(&kind, settings));
    /// let watched = AnyController::from(controller).watched();
    /// assert!(watched[1].0.is_metadata());
    /// # Ok::<(), kubewright_controller::InvalidKind>(())
    /// ```
    pub fn dynamic<References>(
        kind: &Kind,
        map: impl Fn(&T) -> References + Send + Sync + 'static,
    ) -> Self
    where
        References: IntoIterator<Item = ObjectRef<K>>,
    {
        Self::of(kind.read_as::<T>(), map)
    }
}

impl<T: AnyObject, K> Related<T, K> {
    fn of<References>(kind: Kind, map: impl Fn(&T) -> References + Send + Sync + 'static) -> Self
    where
        References: IntoIterator<Item = ObjectRef<K>>,
    {
        Self {
            kind,
            scope: Scope::all(),
            is_optional: false,
            predicate: Predicate::any_change(),
            map: Arc::new(move |_, entry| Ok(map(&entry.decode()?).into_iter().collect())),
        }
    }
}

impl<T, K> Related<T, K> {
    /// Does not require that the API server serves the kind: see [`Controller::optional`](crate::Controller::optional).
    pub fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }

    /// Watches only these.
    pub fn within(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Heeds only changes that match the predicate, which is about the watched kind. Default: any change.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kubewright_controller::{ObjectRef, Predicate, Watch, related};
    ///
    /// let of_same_name = related(|secret: &Secret| {
    ///     let metadata = &secret.metadata;
    ///     Some(ObjectRef::from((metadata.namespace.as_deref()?, metadata.name.as_deref()?)))
    /// });
    /// let certificates = Predicate::object(|secret: &Secret| secret.type_.as_deref() == Some("kubernetes.io/tls"));
    /// let watch: Watch<ConfigMap> = of_same_name.filter(certificates).into();
    /// # let _ = watch;
    /// ```
    pub fn filter(mut self, predicate: Predicate<T>) -> Self {
        self.predicate = predicate;
        self
    }
}

impl<K> Watch<K> {
    /// Watches objects that name the object that they concern.
    pub(crate) fn by_mark(
        kind: Kind,
        scope: Scope,
        is_optional: bool,
        owner: impl Fn(&Entry) -> Option<Key> + Send + Sync + 'static,
    ) -> Self {
        Self {
            kind,
            scope,
            is_optional,
            filter: Box::new(Predicate::<DynamicObject>::any_change()),
            is_quick: false,
            map: Arc::new(move |_, entry| {
                Ok(owner(entry).map(ObjectRef::at).into_iter().collect())
            }),
        }
    }

    /// Does not require that the API server serves the kind: see [`Controller::optional`](crate::Controller::optional).
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }

    /// Watches only these.
    #[must_use]
    pub fn within(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// The objects, of the controller's own kind, that a change concerns.
    pub(crate) fn concerned(&self, own: &Kind, delta: &Delta) -> Vec<Key> {
        let mut concerned = Vec::new();
        for entry in delta.old.iter().chain(&delta.new) {
            match (self.map)(own, entry) {
                Ok(references) => {
                    concerned.extend(references.into_iter().map(ObjectRef::into_key));
                }
                Err(error) => tracing::error!(
                    object = %self.kind.reference(entry.key()), error = %Undecodable::from(error),
                    "cannot decode an object: its change is not heeded"
                ),
            }
        }
        concerned.sort_unstable();
        concerned.dedup();
        concerned
    }
}

impl<K, T> From<Owned<T>> for Watch<K>
where
    K: AnyObject<Scope: OwnerScope<T::Scope>>,
    T: AnyObject,
{
    fn from(owned: Owned<T>) -> Self {
        let map: Map<K> = if owned.by_any {
            Arc::new(|own, entry| {
                let Owners { metadata } = entry.decode()?;
                let owners = metadata.owner_references.unwrap_or_default();
                let own = owners
                    .iter()
                    .filter_map(|owner| reference(own, entry, owner));
                Ok(own.collect())
            })
        } else {
            Arc::new(|own, entry| {
                let controller = entry.metadata().controller();
                let own = controller.and_then(|owner| reference(own, entry, owner));
                Ok(own.into_iter().collect())
            })
        };
        Self {
            kind: owned.kind,
            scope: owned.scope,
            is_optional: owned.is_optional,
            filter: Box::new(owned.predicate),
            is_quick: !owned.by_any,
            map,
        }
    }
}

/// The scopes whose objects can own objects of the scope `T`: those of the cluster own all, and those in a namespace own what is in
/// their namespace.
///
/// ```
/// use k8s_openapi::api::core::v1::{Namespace, Pod, Secret};
/// use kube::core::Resource;
/// use kubewright_controller::OwnerScope;
///
/// fn can_own<K: Resource<Scope: OwnerScope<T::Scope>>, T: Resource>() -> bool {
///     true
/// }
///
/// assert!(can_own::<Pod, Secret>() && can_own::<Namespace, Pod>() && can_own::<Namespace, Namespace>());
/// ```
///
/// ```compile_fail,E0277
/// # use k8s_openapi::api::core::v1::{Namespace, Pod};
/// # use kube::core::Resource;
/// # use kubewright_controller::OwnerScope;
/// # fn can_own<K: Resource<Scope: OwnerScope<T::Scope>>, T: Resource>() {}
/// can_own::<Pod, Namespace>();
/// ```
#[diagnostic::on_unimplemented(
    message = "an object in a namespace cannot own one of the whole cluster by an owner reference",
    note = "the garbage collector would delete it; `Controller::owns` and `Ownership` own by a label and a finalizer"
)]
pub trait OwnerScope<T> {}

impl OwnerScope<Self> for NamespaceResourceScope {}
impl OwnerScope<DynamicResourceScope> for NamespaceResourceScope {}
impl<T> OwnerScope<T> for ClusterResourceScope {}
impl<T> OwnerScope<T> for DynamicResourceScope {}

#[derive(Deserialize)]
struct Owners {
    metadata: OwnersMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnersMetadata {
    owner_references: Option<Vec<Owner>>,
}

impl<K, T: AnyObject> From<Related<T, K>> for Watch<K> {
    fn from(related: Related<T, K>) -> Self {
        Self {
            kind: related.kind,
            scope: related.scope,
            is_optional: related.is_optional,
            filter: Box::new(related.predicate),
            is_quick: false,
            map: related.map,
        }
    }
}

/// The owner, if it is of this kind.
fn reference<K>(kind: &Kind, owned: &Entry, owner: &Owner) -> Option<ObjectRef<K>> {
    let group = owner
        .api_version
        .rsplit_once('/')
        .map_or("", |(group, _)| group);
    (*owner.kind == *kind.name() && group == kind.group()).then(|| {
        let namespace = owned.key().namespace().filter(|_| kind.is_namespaced());
        ObjectRef::at(Key::new(namespace, &owner.name))
    })
}

impl<K> fmt::Debug for Watch<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Watch")
            .field("kind", &self.kind)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

impl<T, K> fmt::Debug for Related<T, K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Related")
            .field("kind", &self.kind)
            .field("scope", &self.scope)
            .field("predicate", &self.predicate)
            .finish_non_exhaustive()
    }
}
