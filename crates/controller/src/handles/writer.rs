//! Writing objects, all in one or one verb alone.

use std::fmt;
use std::marker::PhantomData;

use kube::core::params::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::Value;

use super::request::{ask_about, body, requests};
use crate::{Connection, Object, ObjectRef, RequestError, Scope};

/// Creates, replaces, changes and deletes objects of a kind. Clones are cheap.
///
/// Where less is enough there are handles with less: [`Applier`](crate::Applier), [`StatusWriter`](crate::StatusWriter) and
/// [`Deleter`].
pub struct Writer<K>(Handle<K>);

/// Deletes objects of a kind, and does nothing else. Clones are cheap.
pub struct Deleter<K>(Handle<K>);

pub(super) struct Handle<K> {
    pub(super) connection: Connection,
    scope: Scope,
    kind: PhantomData<fn() -> K>,
}

impl<K: Object> Writer<K> {
    /// Writes objects of a scope by a connection.
    pub fn new(connection: &Connection, scope: Scope) -> Self {
        Self(Handle::new(connection, scope))
    }

    /// Creates an object.
    ///
    /// # Errors
    ///
    /// When there is such an object already, or the API server refuses or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is created.
    pub async fn create(&self, object: &K) -> Result<K, RequestError> {
        let reference = ObjectRef::of(object);
        let key = reference.key();
        let parameters = self.0.post().await;
        let body = body("create", object, key)?;
        self.0
            .ask(
                "create",
                &reference,
                requests::<K>(key).create(&parameters, body),
            )
            .await
    }

    /// Replaces an object. If it names a resource version, nobody must have changed the object since.
    ///
    /// # Errors
    ///
    /// When the object has been changed or is gone, or the API server refuses or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is replaced.
    pub async fn replace(&self, object: &K) -> Result<K, RequestError> {
        let reference = ObjectRef::of(object);
        let key = reference.key();
        let parameters = self.0.post().await;
        let body = body("update", object, key)?;
        let request = requests::<K>(key).replace(key.name(), &parameters, body);
        self.0.ask("update", &reference, request).await
    }

    /// Changes parts of an object, by a JSON merge patch.
    ///
    /// # Errors
    ///
    /// When the object is gone, or the API server refuses or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is changed.
    pub async fn merge(
        &self,
        object: impl Into<ObjectRef<K>>,
        patch: &Value,
    ) -> Result<K, RequestError> {
        let reference = object.into();
        let key = reference.key();
        let parameters = self.0.patch().await;
        let request = requests::<K>(key).patch(key.name(), &parameters, &Patch::Merge(patch));
        self.0.ask("patch", &reference, request).await
    }

    /// Deletes an object: this one, and not another that has come to bear its name. One that is gone already is no error.
    ///
    /// # Errors
    ///
    /// When another object bears the name, or the API server refuses or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is deleted.
    pub async fn delete(&self, object: &K) -> Result<(), RequestError> {
        self.0.delete(object).await
    }
}

impl<K: Object> Deleter<K> {
    /// Deletes objects of a scope by a connection.
    pub fn new(connection: &Connection, scope: Scope) -> Self {
        Self(Handle::new(connection, scope))
    }

    /// Deletes an object: this one, and not another that has come to bear its name. One that is gone already is no error.
    ///
    /// # Errors
    ///
    /// When another object bears the name, or the API server refuses or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is deleted.
    pub async fn delete(&self, object: &K) -> Result<(), RequestError> {
        self.0.delete(object).await
    }

    /// Deletes an object as it is here: if somebody has changed it since it was read, there may be no reason any more.
    ///
    /// # Errors
    ///
    /// When the object has been changed, another one bears its name, or the API server refuses or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is deleted.
    pub async fn delete_unchanged(&self, object: &K) -> Result<(), RequestError> {
        let version = object.meta().resource_version.clone();
        self.0.delete_if(object, version).await
    }
}

impl<K: Object> Handle<K> {
    pub(super) fn new(connection: &Connection, scope: Scope) -> Self {
        Self {
            connection: connection.clone(),
            scope,
            kind: PhantomData,
        }
    }

    async fn post(&self) -> PostParams {
        PostParams {
            field_manager: Some(self.connection.link().await.program.to_string()),
            ..PostParams::default()
        }
    }

    pub(super) async fn patch(&self) -> PatchParams {
        PatchParams {
            field_manager: Some(self.connection.link().await.program.to_string()),
            ..PatchParams::default()
        }
    }

    pub(super) async fn ask(
        &self,
        verb: &str,
        object: &ObjectRef<K>,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<K, RequestError> {
        let link = self.connection.link().await;
        ask_about::<K, K>(&link.client, &self.scope, verb, object.key(), request).await
    }

    async fn delete(&self, object: &K) -> Result<(), RequestError> {
        self.delete_if(object, None).await
    }

    async fn delete_if(
        &self,
        object: &K,
        resource_version: Option<String>,
    ) -> Result<(), RequestError> {
        let reference = ObjectRef::of(object);
        let key = reference.key();
        let mut parameters = DeleteParams::background();
        if let Some(uid) = &object.meta().uid {
            parameters = parameters.preconditions(Preconditions {
                uid: Some(uid.clone()),
                resource_version,
            });
        }
        let link = self.connection.link().await;
        let request = requests::<K>(key).delete(key.name(), &parameters);
        match ask_about::<K, Value>(&link.client, &self.scope, "delete", key, request).await {
            Err(error) if !error.is_not_found() => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

impl<K> Clone for Handle<K> {
    fn clone(&self) -> Self {
        Self {
            connection: self.connection.clone(),
            scope: self.scope.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> Clone for Writer<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Clone for Deleter<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> fmt::Debug for Writer<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Writer")
            .field(&self.0.connection)
            .finish()
    }
}

impl<K> fmt::Debug for Deleter<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Deleter")
            .field(&self.0.connection)
            .finish()
    }
}
