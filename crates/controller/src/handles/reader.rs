//! Reading from the API server itself.

use std::fmt;
use std::marker::PhantomData;

use kube::core::ObjectList;
use kube::core::Request as Requests;
use kube::core::params::{GetParams, ListParams};

use super::request::{ask, requests};
use crate::{Connection, Kind, Object, ObjectRef, RequestError, Scope};

/// Reads objects of a kind from the API server itself, as they are at this moment. Clones are cheap.
///
/// Every call is a request: a [`Cached`](crate::Cached) is the better choice for whatever is read often.
pub struct Reader<K> {
    connection: Connection,
    scope: Scope,
    kind: PhantomData<fn() -> K>,
}

impl<K: Object> Reader<K> {
    /// Reads by a connection.
    pub fn new(connection: &Connection, scope: Scope) -> Self {
        Self {
            connection: connection.clone(),
            scope,
            kind: PhantomData,
        }
    }

    /// Returns an object, if there is one.
    ///
    /// # Errors
    ///
    /// When the API server refuses, or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn get(&self, object: impl Into<ObjectRef<K>>) -> Result<Option<K>, RequestError> {
        let reference = object.into();
        let key = reference.key();
        RequestError::unless_within(&self.scope, "get", &Kind::of::<K>(), key)?;
        let link = self.connection.link().await;
        let request = requests::<K>(key).get(key.name(), &GetParams::default());
        match ask(&link.client, request).await {
            Ok(object) => Ok(Some(object)),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
            Err(error) => Err(RequestError::new("get", &Kind::of::<K>(), key, error)),
        }
    }

    /// Returns all objects of its scope.
    ///
    /// # Errors
    ///
    /// When the API server refuses, or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn list(&self) -> Result<Vec<K>, RequestError> {
        let kind = Kind::of::<K>();
        let link = self.connection.link().await;
        let requests = Requests::new(kind.path(self.scope.namespace()));
        let mut page = ListParams::default().limit(PAGE);
        page.label_selector.clone_from(&self.scope.labels);
        page.field_selector = self
            .scope
            .name()
            .map(|name| format!("metadata.name={name}"));
        let mut all = Vec::new();
        loop {
            let list: ObjectList<K> = ask(&link.client, requests.list(&page))
                .await
                .map_err(|error| RequestError::of_list(&kind, error))?;
            all.extend(list.items);
            page.continue_token = list.metadata.continue_.filter(|token| !token.is_empty());
            if page.continue_token.is_none() {
                return Ok(all);
            }
        }
    }
}

impl<K> Clone for Reader<K> {
    fn clone(&self) -> Self {
        Self {
            connection: self.connection.clone(),
            scope: self.scope.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> fmt::Debug for Reader<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Reader").field(&self.scope).finish()
    }
}

const PAGE: u32 = 500;
