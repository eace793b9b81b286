//! One shared cache: the list and watch of a kind in a scope, and the objects that it holds.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{SetOnce, watch};

use super::delta::Delta;
use super::entry::Entry;
use super::store::Store;
use crate::{Key, Kind, Scope};

/// One list and watch of a kind in a scope, shared by all who read it. Clones are cheap.
#[derive(Clone)]
pub(crate) struct Informer {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    kind: Kind,
    scope: Scope,
    store: Store,
    synced: SetOnce<()>,
    /// Number of lists.
    lists: watch::Sender<u64>,
    watches: AtomicU64,
    failures: AtomicU64,
}

/// Statistics of the caches of a kind, summed over all scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Follows {
    /// Number of objects in the caches.
    pub objects: usize,
    /// Number of lists.
    pub lists: u64,
    /// Number of watches, each of which continues a list or an earlier watch.
    pub watches: u64,
    /// Number of failed lists and watches.
    pub failures: u64,
}

/// A subscription, which ends when it is dropped.
pub(crate) struct Subscription {
    informer: Informer,
    number: u64,
}

impl Informer {
    pub(super) fn new(kind: Kind, scope: Scope) -> Self {
        Self {
            shared: Arc::new(Shared {
                kind,
                scope,
                store: Store::new(),
                synced: SetOnce::new(),
                lists: watch::Sender::new(0),
                watches: AtomicU64::new(0),
                failures: AtomicU64::new(0),
            }),
        }
    }

    /// Returns the statistics of this cache.
    pub(super) fn follows(&self) -> Follows {
        let shared = &self.shared;
        Follows {
            objects: shared.store.len(),
            lists: *shared.lists.borrow(),
            watches: shared.watches.load(Ordering::Relaxed),
            failures: shared.failures.load(Ordering::Relaxed),
        }
    }

    pub(super) fn is_synced(&self) -> bool {
        self.shared.synced.initialized()
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.shared.kind
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.shared.scope
    }

    /// Waits until the first list is complete.
    pub(crate) async fn synced(&self) {
        self.shared.synced.wait().await;
    }

    /// Notifies of every list from now on. Objects that were created and deleted between the end of a watch and the next list
    /// cause no event.
    pub(crate) fn lists(&self) -> watch::Receiver<u64> {
        self.shared.lists.subscribe()
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Entry>> {
        self.shared.store.get(key)
    }

    pub(crate) fn select(&self, pick: impl FnMut(&Key) -> bool) -> Vec<Arc<Entry>> {
        self.shared.store.select(pick)
    }

    /// Calls the function for every object in the cache, and for every later change.
    pub(crate) fn subscribe(
        &self,
        subscriber: impl Fn(&Delta) + Send + Sync + 'static,
    ) -> Subscription {
        Subscription {
            number: self.shared.store.subscribe(Arc::new(subscriber)),
            informer: self.clone(),
        }
    }

    pub(super) fn store(&self) -> &Store {
        &self.shared.store
    }

    pub(super) fn watches_on(&self) {
        self.shared.watches.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn has_failed(&self) {
        self.shared.failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn is_known(&self) {
        self.shared.lists.send_modify(|lists| *lists += 1);
        // Every later list ends here, too, when it is set already.
        drop(self.shared.synced.set(()));
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.informer.shared.store.unsubscribe(self.number);
    }
}

impl fmt::Debug for Informer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Informer")
            .field("kind", &self.shared.kind)
            .field("scope", &self.shared.scope)
            .finish_non_exhaustive()
    }
}
