//! Writing the status of objects, and no other field.

use std::fmt;

use kube::core::object::HasStatus;
use kube::core::params::Patch;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::kind_of::KindOf;
use super::request::requests;
use super::writer::Handle;
use crate::{
    AnyObject, Connection, DynamicKind, Kind, Object, ObjectRef, OperationResult, RequestError,
    Scope,
};

/// Writes the status of objects of a kind, and no other field. Clones are cheap.
pub struct StatusWriter<K>(Handle<K>);

impl<K: Object> StatusWriter<K> {
    /// Writes objects of a scope by a connection.
    pub fn new(connection: &Connection, scope: Scope) -> Self {
        Self(Handle::new(connection, scope, KindOf::type_()))
    }
}

impl<K: DynamicKind> StatusWriter<K> {
    /// Creates a handle for the objects of a scope, of a kind that is known only while the program runs.
    pub fn dynamic(connection: &Connection, kind: &Kind, scope: Scope) -> Self {
        Self(Handle::new(connection, scope, KindOf::value(kind)))
    }
}

impl<K: AnyObject> StatusWriter<K> {
    /// Changes the status of an object, by a JSON merge patch of the status alone.
    ///
    /// # Errors
    ///
    /// If the object is gone or its kind has no status, or the API server rejects the request or does not respond.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the status is changed.
    pub async fn merge(
        &self,
        object: impl Into<ObjectRef<K>>,
        status: &Value,
    ) -> Result<K, RequestError> {
        self.patch(&object.into(), &json!({"status": status})).await
    }

    /// Updates the status of an object if it differs from `wanted`, by a JSON merge patch of the difference.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
    /// # use kube::CustomResource;
    /// use kubewright_controller::{Action, Context, Error, Reconcile, StatusWriter, set_condition};
    /// # use schemars::JsonSchema;
    /// # use serde::{Deserialize, Serialize};
    ///
    /// # #[derive(Clone, Debug, CustomResource, Serialize, Deserialize, JsonSchema)]
    /// # #[kube(group = "example.com", version = "v1", kind = "Garden", status = "GardenStatus")]
    /// # struct GardenSpec {}
    /// #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
    /// struct GardenStatus {
    ///     #[schemars(schema_with = "kubewright_manifests::conditions")]
    ///     conditions: Vec<Condition>,
    /// }
    ///
    /// struct Gardener {
    ///     statuses: StatusWriter<Garden>,
    /// }
    ///
    /// impl Reconcile<Garden> for Gardener {
    ///     async fn reconcile(&self, garden: Arc<Garden>, cx: Context) -> Result<Action, Error> {
    ///         let mut status = garden.status.clone().unwrap_or_default();
    ///         let ready = cx.condition("Ready", true, "Watered", "its beds are wet");
    ///         set_condition(&mut status.conditions, ready);
    ///         self.statuses.update(&garden, &status).await?;
    ///         Ok(Action::await_change())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// When the object has been changed since it was read (the next reconcile reads the new version), has been deleted, its kind
    /// has no status, or the API server rejects the request or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the status is changed.
    pub async fn update(
        &self,
        object: &K,
        wanted: &K::Status,
    ) -> Result<OperationResult, RequestError>
    where
        K: HasStatus<Status: Serialize>,
    {
        let reference = ObjectRef::of(object);
        let read = |status: Option<&K::Status>| {
            serde_json::to_value(status).map_err(|error| {
                let error = kube::Error::SerdeError(error);
                RequestError::new(VERB, &self.0.kind, reference.key(), error)
            })
        };
        let (found, wanted) = (read(object.status())?, read(Some(wanted))?);
        if found == wanted {
            return Ok(OperationResult::Unchanged);
        }
        let mut patch = json!({"status": difference(&found, &wanted)});
        if let Some(version) = &object.meta().resource_version {
            patch["metadata"] = json!({"resourceVersion": version});
        }
        self.patch(&reference, &patch).await?;
        Ok(OperationResult::Updated)
    }

    async fn patch(&self, object: &ObjectRef<K>, patch: &Value) -> Result<K, RequestError> {
        let key = object.key();
        let parameters = self.0.patch().await;
        let patch = Patch::Merge(patch);
        let request = requests(&self.0.kind, key).patch_subresource(
            "status",
            key.name(),
            &parameters,
            &patch,
        );
        self.0.ask(VERB, object, request).await
    }
}

/// What is done to a status, in errors.
const VERB: &str = "patch the status of";

/// The merge patch that makes one value of another.
fn difference(found: &Value, wanted: &Value) -> Value {
    let (Value::Object(found), Value::Object(wanted)) = (found, wanted) else {
        return wanted.clone();
    };
    let gone = found.keys().filter(|key| !wanted.contains_key(*key));
    let gone = gone.map(|key| (key.clone(), Value::Null));
    let new = wanted.iter().filter_map(|(key, value)| {
        let known = found.get(key).unwrap_or(&Value::Null);
        (known != value).then(|| (key.clone(), difference(known, value)))
    });
    Value::Object(gone.chain(new).collect::<Map<_, _>>())
}

impl<K> Clone for StatusWriter<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> fmt::Debug for StatusWriter<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("StatusWriter")
            .field(&self.0.connection)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_takes_away_what_is_not_wanted_and_leaves_the_rest_out() {
        let found = json!({"a": 1, "b": {"c": [1], "d": 2}, "e": null, "f": {}});
        let wanted = json!({"b": {"c": [2]}, "f": {}, "g": {"h": 3}});
        let patch = difference(&found, &wanted);
        assert_eq!(
            patch,
            json!({"a": null, "b": {"c": [2], "d": null}, "e": null, "g": {"h": 3}})
        );
        let mut object = found;
        json_patch::merge(&mut object, &patch);
        assert_eq!(object, wanted);
        assert_eq!(difference(&Value::Null, &wanted), wanted);
    }
}
