//! Server-side apply.

use std::fmt;
use std::marker::PhantomData;

use kube::core::params::{Patch, PatchParams};

use super::request::{ask_about, requests};
use crate::{Connection, Object, ObjectRef, RequestError, Scope};

/// Applies objects of a kind: the fields that are set become as they are said to be, and the others stay as they are.
/// Clones are cheap.
///
/// The field manager is the program. Fields that somebody else manages are taken over, as Kubernetes advises controllers
/// to; [`apply_unless_managed`](Self::apply_unless_managed) leaves them alone.
pub struct Applier<K> {
    connection: Connection,
    scope: Scope,
    kind: PhantomData<fn() -> K>,
}

impl<K: Object> Applier<K> {
    /// Applies objects of a scope by a connection.
    pub fn new(connection: &Connection, scope: Scope) -> Self {
        Self {
            connection: connection.clone(),
            scope,
            kind: PhantomData,
        }
    }

    /// Applies an object, and returns it as it is then. What changes nothing is no write.
    ///
    /// # Errors
    ///
    /// When the API server refuses or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is applied.
    pub async fn apply(&self, object: &K) -> Result<K, RequestError> {
        self.send(object, true).await
    }

    /// Applies an object unless somebody else manages one of its fields and has set it to something else.
    ///
    /// # Errors
    ///
    /// When there is such a conflict, or the API server refuses or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is applied.
    pub async fn apply_unless_managed(&self, object: &K) -> Result<K, RequestError> {
        self.send(object, false).await
    }

    async fn send(&self, object: &K, force: bool) -> Result<K, RequestError> {
        let reference = ObjectRef::of(object);
        let key = reference.key();
        let link = self.connection.link().await;
        let mut parameters = PatchParams::apply(&link.program);
        parameters.force = force;
        let request = requests::<K>(key).patch(key.name(), &parameters, &Patch::Apply(object));
        ask_about::<K, K>(&link.client, &self.scope, "apply", key, request).await
    }
}

impl<K> Clone for Applier<K> {
    fn clone(&self) -> Self {
        Self {
            connection: self.connection.clone(),
            scope: self.scope.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> fmt::Debug for Applier<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Applier")
            .field(&self.connection)
            .finish()
    }
}
