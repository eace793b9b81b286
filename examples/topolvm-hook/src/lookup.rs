//! Looks objects up that may be younger than what the cache has seen.

use kubewright::controller::{Object, ObjectRef, ReadError, RequestError};
use kubewright::prelude::*;

/// Objects of a kind, by name.
pub(crate) struct Lookup<K> {
    cached: Cached<K>,
    live: Reader<K>,
}

/// Why an object could not be looked up; not that there is none.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookupError {
    #[error(transparent)]
    Cache(#[from] ReadError),
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl<K: Object> Lookup<K> {
    pub(crate) fn new(needs: &mut Needs) -> Self {
        Self {
            cached: needs.cached(),
            live: needs.reader(),
        }
    }

    /// The object from the cache; one that is not in it is asked for once before it counts as missing.
    pub(crate) async fn get(
        &self,
        reference: impl Into<ObjectRef<K>>,
    ) -> Result<Option<K>, LookupError> {
        let reference = reference.into();
        match self.cached.get(reference.clone()).await? {
            Some(object) => Ok(Some(object)),
            None => Ok(self.live.get(reference).await?),
        }
    }
}
