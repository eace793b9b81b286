//! The state of each cache, for those who look inside a program.

use std::time::Duration;

use super::cache::{Follows, Informer};
use crate::{Kind, Scope};

/// The state of one cache. [`Informers::caches`](crate::Informers::caches) returns it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CacheState {
    /// The kind of its objects.
    pub kind: Kind,
    /// Which objects of the kind it holds.
    pub scope: Scope,
    /// Its statistics.
    pub follows: Follows,
    /// Memory that the objects take, in bytes: their text as it is kept, without what is made of it when they are read.
    pub bytes: usize,
    /// Whether the first list is complete.
    pub is_synced: bool,
    /// Whether the API server serves the kind.
    pub is_served: bool,
    /// Whether something waits until the kind is served.
    pub is_required: bool,
    /// The time since the API server last told of an object, or that there is nothing new. `None`: it has not yet.
    pub last_event: Option<Duration>,
    /// The resource version up to which everything is known. `None`: nothing is, or the version is no number.
    pub resource_version: Option<u64>,
}

impl Informer {
    pub(super) fn state(&self) -> CacheState {
        let mut bytes = 0;
        self.store().visit(|entry| bytes += entry.room());
        CacheState {
            kind: self.kind().clone(),
            scope: self.scope().clone(),
            follows: self.follows(),
            bytes,
            is_synced: self.is_synced(),
            is_served: self.is_served(),
            is_required: self.is_required(),
            last_event: self.position().last_event(),
            resource_version: self.position().version(),
        }
    }
}
