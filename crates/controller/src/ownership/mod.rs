//! Ownership: by a label and a finalizer where an owner reference cannot be, and the adoption of objects that have no owner.

mod adopter;
mod collection;
mod collector;
mod ledger;
mod mark;
mod refusal;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

pub use self::adopter::Adopter;
use self::collection::Collection;
pub(crate) use self::collection::Owner;
pub(crate) use self::collector::{Collector, Collects};
use self::mark::Mark;
pub(crate) use self::refusal::Refusal;
use crate::{
    AnyObject, Cached, Connection, Context, CreateOrUpdate, Deleter, DynamicKind, Informers, Key,
    Kind, Object, ObjectRef, OperationResult, ReadError, RequestError, Scope,
};

/// Owns objects of the kind `T` for objects of the kind `K` where Kubernetes' owner references cannot: in another namespace than the
/// owner's, or for the whole cluster when the owner has a namespace. Clones are cheap.
///
/// Each owned object has a label with the UID of its owner and an annotation with the owner's namespace and name. The owner has a
/// finalizer. All three have the name of this handle. [`Controller::owns`](crate::Controller::owns) has the controller of the owners
/// reconcile an owner when something that it owns changes, and collect what a deleted owner owns.
///
/// # Guarantees
///
/// * The finalizer is on the owner before the first object is created for it, and is removed only when the API server lists no object
///   with its UID.
/// * What a deleted owner owns is deleted as it was read. An object whose label was changed meanwhile stays.
/// * An object whose owner does not exist, such as one that was created by a request on its way while the owner went, is deleted as
///   soon as the cache sees it, if the API server does not know the owner either.
/// * An object that exists without the label, or that belongs to another owner, is neither changed nor deleted.
///
/// All of this holds when the program ends at any point, and another replica or the next start goes on.
///
/// # Assumptions
///
/// * The name is this installation's alone, as that of a [`Finalizer`](crate::Finalizer) is. Two installations of a program that
///   reconcile different owners may share it; two that reconcile the same owners take two names.
/// * One controller reconciles the owners. An owner that is being deleted stays as long as no program runs that collects what it owns.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
/// use kubewright_controller::{Action, AnyController, Connection, Context, Controller, Error, Informers, Ownership, Scope};
/// use kubewright_testing::{TestCluster, eventually, yaml};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let cluster = TestCluster::start().await;
/// # cluster.create::<Namespace>(&yaml("metadata: {name: red}")).await.expect_allowed();
/// let informers = Informers::new();
/// let connection = Connection::with_informers(&informers);
/// connection.open(cluster.client(), "gardener");
/// // In a program: needs.ownership("gardens.example.com/owner")
/// let secrets: Ownership<ConfigMap, Secret> =
///     Ownership::new(&informers, &connection, "gardens.example.com/owner", Scope::all().in_namespace("red"));
///
/// let owned = secrets.clone();
/// let reconcile = move |_: Arc<ConfigMap>, context: Context| {
///     let owned = owned.clone();
///     async move {
///         let secret: Secret = yaml("{metadata: {namespace: red, name: copy}, stringData: {mode: quiet}}");
///         owned.create_or_update(&context, secret).await?;
///         Ok::<_, Error>(Action::await_change())
///     }
/// };
/// let controller = Controller::new("gardens", reconcile).within(Scope::all().named("garden")).owns(&secrets);
/// let running = AnyController::from(controller).attach(&informers);
/// # let client = cluster.client();
/// # tokio::spawn(async move { informers.run(client).await });
/// tokio::spawn(async move { running.run(std::future::pending()).await });
///
/// let garden: ConfigMap = cluster.create(&yaml("metadata: {name: garden}")).await.expect_allowed();
/// let copies: kube::Api<Secret> = kube::Api::namespaced(cluster.client(), "red");
/// let secret = eventually("a Secret in another namespace", async || copies.get_opt("copy").await.unwrap()).await;
/// assert_eq!(secret.metadata.labels.unwrap()["gardens.example.com/owner"], garden.metadata.uid.unwrap());
/// cluster.delete::<ConfigMap>("garden").await.expect_allowed();
/// eventually("the end of the owner", async || cluster.get::<ConfigMap>("garden").await.is_none().then_some(())).await;
/// assert!(copies.get_opt("copy").await?.is_none());
/// # Ok(())
/// # }
/// ```
pub struct Ownership<K, T> {
    collection: Arc<Collection>,
    objects: CreateOrUpdate<T>,
    cached: Cached<T>,
    deleter: Deleter<T>,
    owners: PhantomData<fn() -> K>,
}

impl<K: AnyObject, T: Object> Ownership<K, T> {
    /// Creates a handle of this name, such as `gardens.example.com/owner`, for owned objects in a scope.
    pub fn new(
        informers: &Informers,
        connection: &Connection,
        name: impl Into<Arc<str>>,
        scope: Scope,
    ) -> Self {
        let (name, kind) = (name.into(), Kind::of::<T>());
        let marked = marked(&name, &scope);
        Self {
            objects: CreateOrUpdate::new(informers, connection, marked.clone()),
            cached: Cached::new(informers, marked.clone()),
            deleter: Deleter::new(connection, scope.clone()),
            collection: Collection::new(informers, connection, name, kind, scope, marked),
            owners: PhantomData,
        }
    }
}

impl<K: AnyObject, T: DynamicKind> Ownership<K, T> {
    /// Creates a handle of this name for owned objects in a scope, of a kind that is known only while the program runs.
    pub fn dynamic(
        informers: &Informers,
        connection: &Connection,
        kind: &Kind,
        name: impl Into<Arc<str>>,
        scope: Scope,
    ) -> Self {
        let (name, kind) = (name.into(), kind.read_as::<T>());
        let marked = marked(&name, &scope);
        Self {
            objects: CreateOrUpdate::dynamic(informers, connection, &kind, marked.clone()),
            cached: Cached::dynamic(informers, &kind, marked.clone()),
            deleter: Deleter::dynamic(connection, &kind, scope.clone()),
            collection: Collection::new(informers, connection, name, kind, scope, marked),
            owners: PhantomData,
        }
    }
}

impl<K: AnyObject, T: AnyObject> Ownership<K, T> {
    pub(crate) fn collection(&self) -> &Arc<Collection> {
        &self.collection
    }

    /// Creates or updates an object that the reconciled object owns, as [`CreateOrUpdate`] does: in the namespace that the object
    /// has, and in that of its owner if it has none. Does nothing while the owner is being deleted.
    ///
    /// # Errors
    ///
    /// When there is such an object already that has another owner or none, when no controller
    /// [collects](crate::Controller::owns) what this handle creates, when the update conflicts with a concurrent change, or the API
    /// server rejects a request or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is written.
    pub async fn create_or_update(
        &self,
        context: &Context,
        mut object: T,
    ) -> Result<OperationResult, RequestError> {
        let Collection { name, kind, .. } = &*self.collection;
        let owner = context.owner();
        let metadata = object.meta_mut();
        if kind.is_namespaced() && metadata.namespace.is_none() {
            metadata.namespace = owner.key.namespace().map(str::to_owned);
        }
        let mark = Mark {
            owner: owner.key.clone(),
            uid: context.uid().into(),
        };
        mark.put(name, metadata);
        let reference = ObjectRef::of(&object);
        let key = reference.key();
        self.unless_collected(&owner, key)?;
        RequestError::unless_within(&self.collection.scope, VERB, kind, key)?;
        if context.is_being_deleted() {
            return Ok(OperationResult::Unchanged);
        }
        self.collection.informer.synced().await;
        if let Some(found) = self.collection.informer.get(key)
            && found.metadata().label(name) != Some(&mark.uid)
        {
            let other = Mark::of_entry(name, &found).map(|mark| mark.owner);
            return Err(self.owned_by_another(&owner, key, other));
        }
        if !context.has_finalizer(name) && !self.hold(&owner, &mark.uid).await? {
            return Ok(OperationResult::Unchanged);
        }
        match self.objects.create_or_update(&object).await {
            Err(error) if error.is_already_exists() => {
                Err(self.why_exists(&owner, key, &mark, error).await)
            }
            done => done,
        }
    }

    /// Returns the objects that the reconciled object owns by this handle, sorted by namespace and name, from the cache.
    ///
    /// # Errors
    ///
    /// When an object is not of the type that is asked for.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn list(&self, context: &Context) -> Result<Vec<T>, ReadError> {
        self.collection.informer.synced().await;
        let owned = self
            .collection
            .ledger
            .owned(context.owner().key, context.uid());
        let mut objects = Vec::with_capacity(owned.len());
        for key in owned {
            objects.extend(self.cached.get(ObjectRef::at(key)).await?);
        }
        Ok(objects)
    }

    /// Deletes an object that the reconciled object owns, as it was read. A missing object is not an error.
    ///
    /// # Errors
    ///
    /// When the object has another owner or none, has been changed since it was read, or the API server rejects the request or
    /// does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is deleted.
    pub async fn delete(&self, context: &Context, object: &T) -> Result<(), RequestError> {
        let Collection { name, .. } = &*self.collection;
        let (owner, reference) = (context.owner(), ObjectRef::of(object));
        let mark = Mark::of_metadata(name, object.meta());
        if mark.as_ref().is_none_or(|mark| *mark.uid != *context.uid()) {
            let refusal = match mark {
                Some(mark) => self.another(&owner, Some(mark.owner)),
                None => Refusal::NotOwned {
                    name: name.to_string(),
                },
            };
            let kind = &self.collection.kind;
            return Err(RequestError::refused(
                "delete",
                kind.reference(reference.key()),
                refusal,
            ));
        }
        self.deleter.delete_unchanged(object).await
    }

    /// Refuses to create what no controller would delete.
    fn unless_collected(&self, owner: &Owner<'_>, key: &Key) -> Result<(), RequestError> {
        let owners = self.collection.owners.get();
        if owners.is_some_and(|owners| owners.has_resource_of(owner.kind)) {
            return Ok(());
        }
        let refusal = Refusal::NotCollected {
            owner: owner.kind.to_string(),
        };
        Err(RequestError::refused(
            VERB,
            self.collection.kind.reference(key),
            refusal,
        ))
    }

    /// Has the deletion of the owner wait until what it owns is collected. `false`: it is being deleted already, or gone.
    async fn hold(&self, owner: &Owner<'_>, uid: &str) -> Result<bool, RequestError> {
        let name = self.collection.name();
        let connection = self.collection.connection();
        let found = owner.read(connection).await?;
        let found = found.filter(|found| {
            found.uid.as_deref() == Some(uid) && found.deletion_timestamp.is_none()
        });
        let Some(found) = found else {
            return Ok(false);
        };
        let mut finalizers = found.finalizers.clone().unwrap_or_default();
        if !finalizers.iter().any(|known| **known == **name) {
            finalizers.push(name.to_string());
            owner
                .set_finalizers(connection, &found, &finalizers)
                .await?;
        }
        Ok(true)
    }

    /// The cache has no object of this name with the label: it may be that of another client, or newer than the cache.
    async fn why_exists(
        &self,
        owner: &Owner<'_>,
        key: &Key,
        mark: &Mark,
        error: RequestError,
    ) -> RequestError {
        let Collection { name, kind, .. } = &*self.collection;
        match self.collection.read(key.clone()).await {
            Ok(Some(found)) => match Mark::of_metadata(name, &found.metadata) {
                Some(found) if found.uid == mark.uid => error,
                Some(found) => self.owned_by_another(owner, key, Some(found.owner)),
                None => {
                    let name = name.to_string();
                    RequestError::refused(VERB, kind.reference(key), Refusal::NotOwned { name })
                }
            },
            Ok(None) | Err(_) => error,
        }
    }

    fn owned_by_another(&self, owner: &Owner<'_>, key: &Key, other: Option<Key>) -> RequestError {
        let refusal = self.another(owner, other);
        RequestError::refused(VERB, self.collection.kind.reference(key), refusal)
    }

    fn another(&self, owner: &Owner<'_>, other: Option<Key>) -> Refusal {
        let other = match other {
            Some(other) if other == *owner.key => {
                format!("an earlier {}", owner.kind.reference(&other))
            }
            Some(other) => owner.kind.reference(&other),
            None => "another owner".to_owned(),
        };
        Refusal::OwnedByAnother {
            owner: other,
            name: self.collection.name.to_string(),
        }
    }
}

/// The scope of the cache: an object without the label is none of this program.
fn marked(name: &str, scope: &Scope) -> Scope {
    let selector = match &scope.labels {
        Some(labels) => format!("{labels},{name}"),
        None => name.to_owned(),
    };
    scope.clone().labelled(selector)
}

/// The verb of errors.
const VERB: &str = "create or update";

impl<K, T> Clone for Ownership<K, T> {
    fn clone(&self) -> Self {
        Self {
            collection: Arc::clone(&self.collection),
            objects: self.objects.clone(),
            cached: self.cached.clone(),
            deleter: self.deleter.clone(),
            owners: PhantomData,
        }
    }
}

impl<K, T> fmt::Debug for Ownership<K, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Ownership")
            .field("name", &self.collection.name)
            .field("kind", &self.collection.kind)
            .finish_non_exhaustive()
    }
}
