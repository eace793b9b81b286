//! Reading from a shared cache.

use std::error::Error as StdError;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::undecodable::Undecodable;
use crate::informer::{Entry, Informer};
use crate::object::OutsideScope;
use crate::{Informers, Kind, Object, ObjectRef, Scope};

/// Reads objects of a kind from a cache that follows the cluster. Clones are cheap, and all who ask for the same kind and
/// scope share one cache.
///
/// What is read is as new as the last news from the API server, which is usually milliseconds old. A read before the cache
/// is complete waits for it.
///
/// The cache holds bytes; an object is decoded when it is read. A reader that needs a few fields of large objects names a
/// type that has only those ([`decode_as`](Self::decode_as)).
pub struct Cached<K, T = K> {
    informer: Informer,
    types: PhantomData<fn() -> (K, T)>,
}

/// Why an object cannot be read from a cache.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}")]
pub struct ReadError {
    what: String,
    source: Box<dyn StdError + Send + Sync>,
}

impl<K: Object> Cached<K> {
    /// Reads from the cache of a kind and scope.
    pub fn new(informers: &Informers, scope: Scope) -> Self {
        Self {
            informer: informers.informer(Kind::of::<K>(), scope),
            types: PhantomData,
        }
    }

    /// Reads the same objects as another type, which knows only the fields that matter.
    pub fn decode_as<T: DeserializeOwned>(&self) -> Cached<K, T> {
        Cached {
            informer: self.informer.clone(),
            types: PhantomData,
        }
    }
}

impl<K: Object, T: DeserializeOwned> Cached<K, T> {
    /// Returns an object, if there is one.
    ///
    /// # Errors
    ///
    /// When the object is not of the type that is asked for, or the cache was narrowed to others.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn get(&self, object: impl Into<ObjectRef<K>>) -> Result<Option<T>, ReadError> {
        self.informer.synced().await;
        let reference = object.into();
        let key = reference.key();
        self.unless_within(self.scope().admits(key), || {
            self.informer.kind().reference(key)
        })?;
        let entry = self.informer.get(key);
        entry.map(|entry| self.decode(&entry)).transpose()
    }

    /// Returns all objects, sorted by namespace and name.
    ///
    /// # Errors
    ///
    /// When an object is not of the type that is asked for.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn list(&self) -> Result<Vec<T>, ReadError> {
        self.informer.synced().await;
        self.decode_all(&self.entries())
    }

    /// Returns the objects of a namespace, sorted by name.
    ///
    /// # Errors
    ///
    /// When an object is not of the type that is asked for, or the cache was narrowed to another namespace.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn list_in(&self, namespace: &str) -> Result<Vec<T>, ReadError> {
        self.informer.synced().await;
        let is_within = self.scope().admits_namespace(Some(namespace));
        self.unless_within(is_within, || {
            format!("{} in {namespace}", self.informer.kind())
        })?;
        let entries = self
            .informer
            .select(|key| key.namespace() == Some(namespace));
        self.decode_all(&entries)
    }

    /// Returns what is known now, without waiting and without decoding anything: for what has to look through many objects.
    pub fn entries(&self) -> Vec<Arc<Entry>> {
        self.informer.select(|_| true)
    }

    /// Returns where the objects of a namespace are that are known now, without waiting: for the functions that say what
    /// is [`related`](crate::related).
    pub fn references_in(&self, namespace: &str) -> Vec<ObjectRef<K>> {
        self.informer
            .select(|key| key.namespace() == Some(namespace))
            .iter()
            .map(|entry| ObjectRef::at(entry.key().clone()))
            .collect()
    }

    fn decode_all(&self, entries: &[Arc<Entry>]) -> Result<Vec<T>, ReadError> {
        entries.iter().map(|entry| self.decode(entry)).collect()
    }

    fn decode(&self, entry: &Entry) -> Result<T, ReadError> {
        entry.decode().map_err(|source| ReadError {
            what: format!("decode {}", self.informer.kind().reference(entry.key())),
            source: Undecodable::from(source).into(),
        })
    }

    pub(super) fn informer(&self) -> &Informer {
        &self.informer
    }

    fn scope(&self) -> &Scope {
        self.informer.scope()
    }

    /// What a cache was not asked for is unknown to it, which must not be taken for its absence.
    fn unless_within(&self, is_within: bool, what: impl Fn() -> String) -> Result<(), ReadError> {
        if is_within {
            return Ok(());
        }
        Err(ReadError {
            what: format!("read {}", what()),
            source: OutsideScope(self.scope().clone()).into(),
        })
    }
}

impl<K, T> Clone for Cached<K, T> {
    fn clone(&self) -> Self {
        Self {
            informer: self.informer.clone(),
            types: PhantomData,
        }
    }
}

impl<K, T> fmt::Debug for Cached<K, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Cached")
            .field(&self.informer)
            .finish()
    }
}
