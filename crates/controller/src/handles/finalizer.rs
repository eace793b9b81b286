//! Cleaning up before an object goes.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use kube::Api;
use kube::core::DynamicObject;
use kube::runtime::controller::Action as KubeAction;
use kube::runtime::finalizer::{self, Event};

use crate::{Action, Connection, Error, Kind, Object, ObjectRef, RequestError};

/// Holds objects of a kind back from going until they are cleaned up after. Clones are cheap.
///
/// # Guarantees
///
/// If [`Life::Apply`] has ever begun for an object, [`Life::Cleanup`] succeeds before the object is gone: the finalizer is on
/// the object before the first, and taken off after the last.
///
/// # Assumptions
///
/// * The name of the finalizer is this program's alone.
/// * Both are idempotent: they may be called again, also after they were broken off.
/// * `Cleanup` puts up with `Apply` never having run.
///
/// An object whose cleanup fails stays, and so does every object while no program runs that takes the finalizer off.
///
/// # Example: a reconcile that is all finalizer
///
/// ```
/// use std::sync::Arc;
///
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Action, Context, Error, Finalizer, Life, Reconcile};
///
/// struct Buckets {
///     finalizer: Finalizer<ConfigMap>, // needs.finalizer("buckets.example.com/empty")
/// }
///
/// impl Reconcile<ConfigMap> for Buckets {
///     async fn reconcile(&self, bucket: Arc<ConfigMap>, _: Context) -> Result<Action, Error> {
///         let lived = self.finalizer.run(bucket, async |life| match life {
///             Life::Apply(_bucket) => Ok(Action::await_change()),
///             Life::Cleanup(_bucket) => Ok(Action::await_change()),
///         });
///         lived.await
///     }
/// }
/// ```
pub struct Finalizer<K> {
    connection: Connection,
    name: Arc<str>,
    kind: PhantomData<fn() -> K>,
}

/// What an object that is held by a finalizer needs.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an object lives or is being deleted, and each has to be dealt with"
)]
pub enum Life<K> {
    /// It lives: the world is to be as it wants it.
    Apply(Arc<K>),
    /// It is being deleted: what was made for it is to go.
    Cleanup(Arc<K>),
}

impl<K: Object> Finalizer<K> {
    /// Holds objects by a finalizer of this name, such as `buckets.example.com/empty`.
    pub fn new(connection: &Connection, name: impl Into<Arc<str>>) -> Self {
        Self {
            connection: connection.clone(),
            name: name.into(),
            kind: PhantomData,
        }
    }

    /// Reconciles an object whose end has to wait for a cleanup. It is all that a reconcile does.
    ///
    /// # Errors
    ///
    /// What the function returns, or that the finalizer cannot be put on or taken off.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops that of the function; the finalizer stays.
    pub async fn run(
        &self,
        object: Arc<K>,
        reconcile: impl AsyncFnOnce(Life<K>) -> Result<Action, Error>,
    ) -> Result<Action, Error> {
        let kind = Kind::of::<K>();
        let client = self.connection.client().await;
        let reference = ObjectRef::of(&*object);
        let key = reference.key();
        RequestError::unless_leading("put a finalizer on", &kind, key)?;
        let api: Api<DynamicObject> = match object.meta().namespace.as_deref() {
            Some(namespace) => Api::namespaced_with(client, namespace, kind.resource()),
            None => Api::all_with(client, kind.resource()),
        };
        // All that the finalizer looks at is metadata.
        let known = DynamicObject {
            types: None,
            metadata: object.meta().clone(),
            data: serde_json::Value::Null,
        };
        let mut action = Action::await_change();
        let lived = finalizer::finalizer(&api, &self.name, Arc::new(known), async |event| {
            let life = match event {
                Event::Apply(_) => Life::Apply(Arc::clone(&object)),
                Event::Cleanup(_) => Life::Cleanup(Arc::clone(&object)),
            };
            action = reconcile(life).await.map_err(Failed)?;
            RequestError::unless_leading("take a finalizer off", &kind, key)
                .map_err(|error| Failed(error.into()))?;
            Ok(KubeAction::await_change())
        })
        .await;
        let cannot = |verb, error| Err(RequestError::new(verb, &kind, key, error).into());
        match lived {
            Ok(_) => Ok(action),
            Err(
                finalizer::Error::ApplyFailed(Failed(error))
                | finalizer::Error::CleanupFailed(Failed(error)),
            ) => Err(error),
            Err(finalizer::Error::AddFinalizer(error)) => cannot("put a finalizer on", error),
            Err(finalizer::Error::RemoveFinalizer(error)) => cannot("take a finalizer off", error),
            Err(error) => Err(Error::terminal(error.to_string())),
        }
    }
}

/// An error on its way through kube's finalizer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failed(Error);

impl<K> Clone for Finalizer<K> {
    fn clone(&self) -> Self {
        Self {
            connection: self.connection.clone(),
            name: Arc::clone(&self.name),
            kind: PhantomData,
        }
    }
}

impl<K> fmt::Debug for Finalizer<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Finalizer")
            .field(&self.name)
            .finish()
    }
}
