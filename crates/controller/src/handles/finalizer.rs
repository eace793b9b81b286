//! Finalizers: cleaning up before an object is deleted.

use std::fmt;
use std::sync::Arc;

use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::kind_of::KindOf;
use super::request::{requests, send};
use crate::{
    Action, AnyObject, Connection, DynamicKind, Error, Kind, Object, ObjectRef, RequestError,
};

/// Delays the deletion of objects of a kind, by a finalizer, until their cleanup has succeeded. Clones are cheap.
///
/// # Guarantees
///
/// If [`Event::Apply`] has ever begun for an object, [`Event::Cleanup`] succeeds before the object is gone: the finalizer is
/// added before the first, and removed after the last.
///
/// # Assumptions
///
/// * The name of the finalizer is this program's alone.
/// * Both are idempotent: they may be called again, also after a cancelled call.
/// * `Cleanup` copes with an `Apply` that never ran.
///
/// An object whose cleanup fails stays, and so does every object while no program runs that removes the finalizer.
///
/// # Example: a reconcile that is all finalizer
///
/// ```
/// use std::sync::Arc;
///
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Action, Context, Error, Finalizer, Reconcile, finalizer};
///
/// struct Buckets {
///     finalizer: Finalizer<ConfigMap>, // needs.finalizer("buckets.example.com/empty")
/// }
///
/// impl Reconcile<ConfigMap> for Buckets {
///     async fn reconcile(&self, bucket: Arc<ConfigMap>, _: Context) -> Result<Action, Error> {
///         let run = self.finalizer.run(bucket, async |event| match event {
///             finalizer::Event::Apply(_bucket) => Ok(Action::await_change()),
///             finalizer::Event::Cleanup(_bucket) => Ok(Action::await_change()),
///         });
///         run.await
///     }
/// }
/// ```
pub struct Finalizer<K> {
    connection: Connection,
    name: Arc<str>,
    kind: KindOf<K>,
}

/// What a reconcile has to do for an object with a finalizer, as in kube-rs' `finalizer::Event`.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an object is being deleted or not, and a reconcile has to handle both"
)]
pub enum Event<K> {
    /// The object is not being deleted: bring the world into its desired state.
    Apply(Arc<K>),
    /// The object is being deleted: remove everything that was made for it.
    Cleanup(Arc<K>),
}

impl<K: Object> Finalizer<K> {
    /// Creates a handle for the finalizer of this name, such as `buckets.example.com/empty`.
    pub fn new(connection: &Connection, name: impl Into<Arc<str>>) -> Self {
        Self {
            connection: connection.clone(),
            name: name.into(),
            kind: KindOf::type_(),
        }
    }
}

impl<K: DynamicKind> Finalizer<K> {
    /// Creates a handle for the finalizer of this name on objects of a kind that is known only while the program runs.
    pub fn dynamic(connection: &Connection, kind: &Kind, name: impl Into<Arc<str>>) -> Self {
        Self {
            connection: connection.clone(),
            name: name.into(),
            kind: KindOf::value(kind),
        }
    }
}

impl<K: AnyObject> Finalizer<K> {
    /// Reconciles an object whose deletion waits for a cleanup: adds the finalizer, calls `reconcile`, and removes the finalizer
    /// after a successful cleanup.
    ///
    /// # Errors
    ///
    /// When `reconcile` returns an error, or the finalizer cannot be added or removed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops that of `reconcile`; the finalizer stays.
    pub async fn run(
        &self,
        object: Arc<K>,
        reconcile: impl AsyncFnOnce(Event<K>) -> Result<Action, Error>,
    ) -> Result<Action, Error> {
        let finalizers = object.meta().finalizers.as_deref().unwrap_or_default();
        let place = finalizers.iter().position(|name| **name == *self.name);
        let is_going = object.meta().deletion_timestamp.is_some();
        match (place, is_going) {
            (None, true) => Ok(Action::await_change()),
            // The patch changes the object, so that it is reconciled again.
            (None, false) => {
                self.patch(ADD, &object, &self.add(finalizers)).await?;
                Ok(Action::await_change())
            }
            (Some(_), false) => reconcile(Event::Apply(object)).await,
            (Some(place), true) => {
                let action = reconcile(Event::Cleanup(Arc::clone(&object))).await?;
                self.patch(REMOVE, &object, &self.remove(place)).await?;
                Ok(action)
            }
        }
    }

    /// Builds the patch that adds the finalizer. It fails if the finalizers of the object have changed since it was read.
    fn add(&self, finalizers: &[String]) -> Value {
        let path = "/metadata/finalizers";
        if finalizers.is_empty() {
            return json!([
                {"op": "test", "path": path, "value": null},
                {"op": "add", "path": path, "value": [*self.name]},
            ]);
        }
        json!([
            {"op": "test", "path": path, "value": finalizers},
            {"op": "add", "path": format!("{path}/-"), "value": *self.name},
        ])
    }

    fn remove(&self, place: usize) -> Value {
        let path = format!("/metadata/finalizers/{place}");
        json!([
            {"op": "test", "path": path, "value": *self.name},
            {"op": "remove", "path": path},
        ])
    }

    async fn patch(&self, verb: &str, object: &K, patch: &Value) -> Result<(), RequestError> {
        let (kind, reference) = (&self.kind, ObjectRef::of(object));
        let key = reference.key();
        let link = self.connection.link().await;
        RequestError::unless_leading(verb, kind, key)?;
        let path = requests(kind, key).url_path;
        let request = http::Request::patch(format!("{path}/{}", key.name()))
            .header(CONTENT_TYPE, "application/json-patch+json")
            .body(patch.to_string().into_bytes())
            .map_err(kube::core::request::Error::BuildRequest);
        let response = send(&link.client, request)
            .await
            .map_err(|error| RequestError::new(verb, kind, key, error))?;
        link.informers.take_write(kind, key, &response);
        Ok(())
    }
}

const ADD: &str = "add a finalizer to";
const REMOVE: &str = "remove a finalizer from";

impl<K> Clone for Finalizer<K> {
    fn clone(&self) -> Self {
        Self {
            connection: self.connection.clone(),
            name: Arc::clone(&self.name),
            kind: self.kind.clone(),
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

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn patched(metadata: &Value, patch: &Value) -> Option<Value> {
        let mut object = json!({"metadata": metadata});
        let patch: json_patch::Patch = serde_json::from_value(patch.clone()).unwrap();
        json_patch::patch(&mut object, &patch).ok()?;
        Some(object["metadata"].take())
    }

    #[test]
    fn a_finalizer_is_added_and_removed_only_where_the_others_are_unchanged() {
        let own = Finalizer::<ConfigMap>::new(&Connection::new(), "a.b/own");
        let (others, other) = (["x.y/z".to_owned()], json!({"finalizers": ["x.y/z"]}));
        let both = json!({"finalizers": ["x.y/z", "a.b/own"]});
        let none = json!({"finalizers": null});
        let alone = Some(json!({"finalizers": ["a.b/own"]}));
        assert_eq!(patched(&other, &own.add(&others)), Some(both.clone()));
        assert_eq!(patched(&both, &own.add(&others)), None);
        assert_eq!(patched(&none, &own.add(&[])), alone);
        assert_eq!(patched(&other, &own.add(&[])), None);
        assert_eq!(patched(&both, &own.remove(1)), Some(other.clone()));
        assert_eq!(patched(&both, &own.remove(0)), None);
        assert_eq!(patched(&other, &own.remove(1)), None);
    }
}
