//! One shared cache: the list and watch of a kind in a scope, and the objects that it holds.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::{SetOnce, watch};

use super::delta::Delta;
use super::entry::Entry;
use super::index::{Indexed, Postings};
use super::position::Position;
use super::reads::{Reader, Reads};
use super::selector::Selector;
use super::store::Store;
use crate::sync::{RwLock, locked};
use crate::{Key, Kind, Scope};

/// One list and watch of a kind in a scope, shared by all who read it. Clones are cheap.
#[derive(Clone)]
pub(crate) struct Informer {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    kind: Kind,
    scope: Scope,
    /// The labels of the scope. `None`: no API server takes its selector.
    selector: Option<Selector>,
    store: Store,
    reads: RwLock<Reads>,
    synced: SetOnce<()>,
    /// Whether the objects are waited for. If not, a kind that the API server does not serve is one without objects.
    is_required: AtomicBool,
    is_served: AtomicBool,
    /// Number of lists.
    lists: watch::Sender<u64>,
    watches: AtomicU64,
    failures: AtomicU64,
    position: Position,
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
    /// Number of caches whose kind the API server does not serve: its definition is missing or deleted, or its version is no
    /// longer served.
    pub not_served: usize,
}

/// A subscription, which ends when it is dropped.
pub(crate) struct Subscription {
    informer: Informer,
    number: u64,
}

impl Informer {
    pub(super) fn new(kind: Kind, scope: Scope) -> Self {
        let labels = scope.labels.as_deref();
        Self {
            shared: Arc::new(Shared {
                selector: Selector::parse(labels.unwrap_or_default()),
                store: Store::new(labels.is_some()),
                reads: RwLock::new(Reads::nothing()),
                kind,
                scope,
                synced: SetOnce::new(),
                is_required: AtomicBool::new(false),
                is_served: AtomicBool::new(true),
                lists: watch::Sender::new(0),
                watches: AtomicU64::new(0),
                failures: AtomicU64::new(0),
                position: Position::new(),
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
            not_served: usize::from(!self.is_served()),
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

    /// Has everything that reads this cache wait until its kind is served.
    pub(super) fn require(&self) {
        self.shared.is_required.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_required(&self) -> bool {
        self.shared.is_required.load(Ordering::Relaxed)
    }

    /// Whether the API server serves the kind, as far as is known.
    pub(crate) fn is_served(&self) -> bool {
        self.shared.is_served.load(Ordering::Relaxed)
    }

    /// Waits until the first list is complete, or the kind is known not to be served and not required.
    pub(crate) async fn synced(&self) {
        self.shared.synced.wait().await;
    }

    /// Notifies of every list from now on. Objects that were created and deleted between the end of a watch and the next list
    /// cause no event.
    pub(crate) fn lists(&self) -> watch::Receiver<u64> {
        self.shared.lists.subscribe()
    }

    /// Takes a reader of a type, or of whole objects, unless the cache has begun to hold less than it reads.
    pub(super) fn admits(&self, reader: Option<Reader>) -> bool {
        locked(self.shared.reads.write()).admit(reader)
    }

    /// Takes no reader any more that reads more than the others.
    pub(super) fn settle(&self) {
        locked(self.shared.reads.write()).settle();
    }

    /// An object as this cache holds it.
    pub(super) fn held(&self, entry: Entry) -> Entry {
        locked(self.shared.reads.read()).of(entry)
    }

    pub(super) fn has_objects(&self) -> bool {
        self.shared.store.len() > 0
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Entry>> {
        self.shared.store.get(key)
    }

    pub(crate) fn select(&self, pick: impl FnMut(&Key) -> bool) -> Vec<Arc<Entry>> {
        self.shared.store.select(pick)
    }

    /// The objects at the places that an index of this cache names.
    pub(crate) fn at(&self, places: impl FnOnce() -> Vec<Key>) -> Vec<Arc<Entry>> {
        self.shared.store.at(places)
    }

    /// Keeps an index up to date for as long as a handle on it exists.
    pub(crate) fn index<I: Ord + Clone + Send + Sync + 'static>(&self, index: &Arc<Postings<I>>) {
        let index: Arc<dyn Indexed> = Arc::clone(index) as _;
        self.shared.store.index(&index);
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

    /// Takes an object from the response to a write, which is where this cache has its objects.
    pub(super) fn take_write(&self, entry: &Arc<Entry>) {
        let Some(selector) = &self.shared.selector else {
            return;
        };
        let is_within = selector.selects(entry.metadata());
        let reads = locked(self.shared.reads.read());
        if reads.are_whole() {
            self.shared.store.write(entry, is_within);
        } else if let Ok(copy) = Entry::read(&entry.json()) {
            self.shared
                .store
                .write(&Arc::new(reads.of(copy)), is_within);
        }
    }

    pub(super) fn watches_on(&self) {
        self.shared.watches.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn position(&self) -> &Position {
        &self.shared.position
    }

    pub(super) fn has_failed(&self) {
        self.shared.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// The API server does not serve the kind: there are no objects of it.
    pub(super) fn becomes_absent(&self) {
        self.shared.is_served.store(false, Ordering::Relaxed);
        self.shared.store.clear();
        self.shared.position.is_lost();
        if !self.is_required() {
            drop(self.shared.synced.set(()));
        }
    }

    pub(super) fn is_known(&self) {
        self.shared.is_served.store(true, Ordering::Relaxed);
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
