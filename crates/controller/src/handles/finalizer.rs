//! Cleaning up before an object goes.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};

use super::request::{ask, requests};
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
        let finalizers = object.meta().finalizers.as_deref().unwrap_or_default();
        let place = finalizers.iter().position(|name| **name == *self.name);
        let is_going = object.meta().deletion_timestamp.is_some();
        match (place, is_going) {
            (None, true) => Ok(Action::await_change()),
            // The patch changes the object, so that it is reconciled again.
            (None, false) => {
                self.patch(PUT_ON, &object, &self.put_on(finalizers))
                    .await?;
                Ok(Action::await_change())
            }
            (Some(_), false) => reconcile(Life::Apply(object)).await,
            (Some(place), true) => {
                let action = reconcile(Life::Cleanup(Arc::clone(&object))).await?;
                self.patch(TAKE_OFF, &object, &self.take_off(place)).await?;
                Ok(action)
            }
        }
    }

    /// Builds the patch that adds the finalizer. It fails if the finalizers of the object have changed since it was read.
    fn put_on(&self, finalizers: &[String]) -> Value {
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

    fn take_off(&self, place: usize) -> Value {
        let path = format!("/metadata/finalizers/{place}");
        json!([
            {"op": "test", "path": path, "value": *self.name},
            {"op": "remove", "path": path},
        ])
    }

    async fn patch(&self, verb: &str, object: &K, patch: &Value) -> Result<(), RequestError> {
        let (kind, reference) = (Kind::of::<K>(), ObjectRef::of(object));
        let key = reference.key();
        let link = self.connection.link().await;
        RequestError::unless_leading(verb, &kind, key)?;
        let path = requests::<K>(key).url_path;
        let request = http::Request::patch(format!("{path}/{}", key.name()))
            .header(ACCEPT, METADATA)
            .header(CONTENT_TYPE, "application/json-patch+json")
            .body(patch.to_string().into_bytes())
            .map_err(kube::core::request::Error::BuildRequest);
        ask::<Value>(&link.client, request)
            .await
            .map(drop)
            .map_err(|error| RequestError::new(verb, &kind, key, error))
    }
}

const PUT_ON: &str = "put a finalizer on";
const TAKE_OFF: &str = "take a finalizer off";
/// Requests metadata only in the response.
const METADATA: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

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
    fn a_finalizer_is_put_on_and_taken_off_only_where_the_others_are_as_they_were() {
        let own = Finalizer::<ConfigMap>::new(&Connection::new(), "a.b/own");
        let (others, other) = (["x.y/z".to_owned()], json!({"finalizers": ["x.y/z"]}));
        let both = json!({"finalizers": ["x.y/z", "a.b/own"]});
        let none = json!({"finalizers": null});
        let alone = Some(json!({"finalizers": ["a.b/own"]}));
        assert_eq!(patched(&other, &own.put_on(&others)), Some(both.clone()));
        assert_eq!(patched(&both, &own.put_on(&others)), None);
        assert_eq!(patched(&none, &own.put_on(&[])), alone);
        assert_eq!(patched(&other, &own.put_on(&[])), None);
        assert_eq!(patched(&both, &own.take_off(1)), Some(other.clone()));
        assert_eq!(patched(&both, &own.take_off(0)), None);
        assert_eq!(patched(&other, &own.take_off(1)), None);
    }
}
