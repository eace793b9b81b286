//! Adoption: objects without a controller become the reconciled object's, and are released when they no longer match.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::json;

use super::Refusal;
use crate::{
    AnyObject, Cached, Connection, Context, DynamicKind, Error, Informers, Kind, Object, ObjectRef,
    RequestError, Scope, Writer,
};

/// Adopts objects of a kind that match and have no controller, and releases those that no longer match, as the controllers of
/// Kubernetes do for the pods of a ReplicaSet. Clones are cheap.
///
/// # Guarantees
///
/// * An object with another controller is left alone.
/// * Before the first adoption, the API server confirms that the owner exists and is not being deleted. An object that is being deleted
///   is not adopted.
/// * An object that has been changed since it was read is neither adopted nor released: the error is a conflict, and the reconcile is
///   retried.
///
/// ```
/// use std::sync::Arc;
/// use k8s_openapi::api::{apps::v1::ReplicaSet, core::v1::Pod};
/// use kube::ResourceExt;
/// use kube::core::{Selector, SelectorExt};
/// use kubewright_controller::{Action, Adopter, Context, Error, Reconcile};
///
/// struct ReplicaSets {
///     pods: Adopter<Pod>, // needs.adopter()
/// }
///
/// impl Reconcile<ReplicaSet> for ReplicaSets {
///     async fn reconcile(&self, set: Arc<ReplicaSet>, context: Context) -> Result<Action, Error> {
///         let selector = Selector::try_from(set.spec.selector.clone()).map_err(Error::terminal)?;
///         let pods: Vec<Pod> = self
///             .pods
///             .claim(&context, |pod| selector.matches(pod.labels()))
///             .await?;
///         tracing::info!(pods = pods.len(), "claimed");
///         Ok(Action::await_change())
///     }
/// }
/// ```
pub struct Adopter<T> {
    connection: Connection,
    cached: Cached<T>,
    writer: Writer<T>,
    kind: Kind,
}

impl<T: Object> Adopter<T> {
    /// Creates a handle for the objects of a scope.
    pub fn new(informers: &Informers, connection: &Connection, scope: Scope) -> Self {
        Self {
            connection: connection.clone(),
            cached: Cached::new(informers, scope.clone()),
            writer: Writer::new(connection, scope),
            kind: Kind::of::<T>(),
        }
    }
}

impl<T: DynamicKind> Adopter<T> {
    /// Creates a handle for the objects of a scope, of a kind that is known only while the program runs.
    pub fn dynamic(
        informers: &Informers,
        connection: &Connection,
        kind: &Kind,
        scope: Scope,
    ) -> Self {
        Self {
            connection: connection.clone(),
            cached: Cached::dynamic(informers, kind, scope.clone()),
            writer: Writer::dynamic(connection, kind, scope),
            kind: kind.clone(),
        }
    }
}

impl<T: AnyObject> Adopter<T> {
    /// Returns the objects that the reconciled object controls and that match, after it has adopted and released what it has to.
    ///
    /// Only objects in the namespace of the owner can be adopted; an owner without one looks in all namespaces. While the owner is being
    /// deleted nothing is adopted or released.
    ///
    /// # Errors
    ///
    /// When the owner has a namespace and the objects have none, when an object was changed meanwhile or cannot be decoded, or the API
    /// server rejects a request or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether an object is adopted or released.
    pub async fn claim(
        &self,
        context: &Context,
        matches: impl Fn(&T) -> bool + Send,
    ) -> Result<Vec<T>, Error> {
        let owner = context.owner();
        let all = match owner.key.namespace() {
            Some(_) if !self.kind.is_namespaced() => {
                let refusal = Refusal::OutsideNamespace {
                    owner: owner.kind.reference(owner.key),
                };
                return Err(RequestError::refused(ADOPT, &self.kind, refusal).into());
            }
            Some(namespace) => self.cached.list_in(namespace).await?,
            None => self.cached.list().await?,
        };
        let is_going = context.is_being_deleted();
        let mut is_confirmed = false;
        let mut claimed = Vec::new();
        for object in all {
            let metadata = object.meta();
            let controller = controller(metadata).map(|owner| owner.uid.as_str());
            match (controller, matches(&object)) {
                (Some(uid), true) if uid == context.uid() => claimed.push(object),
                (Some(uid), false) if uid == context.uid() && !is_going => {
                    self.release(context, &object).await?;
                }
                (None, true) if !is_going && metadata.deletion_timestamp.is_none() => {
                    if !is_confirmed && !self.is_alive(context).await? {
                        break;
                    }
                    is_confirmed = true;
                    claimed.push(self.adopt(context, &object).await?);
                }
                _ => {}
            }
        }
        Ok(claimed)
    }

    /// Whether the API server, too, has this owner: a cache may be behind, and an owner that is gone must not adopt what another one
    /// of its name is to have.
    async fn is_alive(&self, context: &Context) -> Result<bool, RequestError> {
        let found = context.owner().read(&self.connection).await?;
        Ok(found.is_some_and(|found| {
            found.uid.as_deref() == Some(context.uid()) && found.deletion_timestamp.is_none()
        }))
    }

    async fn adopt(&self, context: &Context, object: &T) -> Result<T, RequestError> {
        let owners = others(object.meta(), context.uid());
        let owners = owners.chain([context.owner_reference()]);
        self.set_owners(object, owners.collect()).await
    }

    async fn release(&self, context: &Context, object: &T) -> Result<(), RequestError> {
        let owners = others(object.meta(), context.uid()).collect();
        match self.set_owners(object, owners).await {
            Err(error) if error.is_not_found() => Ok(()),
            done => done.map(drop),
        }
    }

    /// Sets the owners of an object, unless it has changed since it was read.
    async fn set_owners(&self, object: &T, owners: Vec<OwnerReference>) -> Result<T, RequestError> {
        let version = &object.meta().resource_version;
        let patch = json!({"metadata": {"resourceVersion": version, "ownerReferences": owners}});
        self.writer.merge(ObjectRef::of(object), &patch).await
    }
}

fn controller(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    let owners = metadata.owner_references.iter().flatten();
    owners
        .into_iter()
        .find(|owner| owner.controller == Some(true))
}

fn others(metadata: &ObjectMeta, uid: &str) -> impl Iterator<Item = OwnerReference> {
    let owners = metadata.owner_references.iter().flatten();
    owners.filter(move |owner| owner.uid != uid).cloned()
}

/// The verb of errors.
const ADOPT: &str = "adopt";

impl<T> Clone for Adopter<T> {
    fn clone(&self) -> Self {
        Self {
            connection: self.connection.clone(),
            cached: self.cached.clone(),
            writer: self.writer.clone(),
            kind: self.kind.clone(),
        }
    }
}

impl<T> fmt::Debug for Adopter<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Adopter").field(&self.kind).finish()
    }
}
