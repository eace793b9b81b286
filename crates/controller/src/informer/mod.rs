//! Shared caches: one list and watch for each kind and scope, however many read it.

mod delta;
mod entry;
mod follow;
mod lines;
mod request;
mod store;
#[cfg(test)]
mod tests;
mod text;
mod wire;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kube::Client;
use tokio::sync::{SetOnce, watch};
use tokio::task::JoinSet;

use crate::sync::{self, Mutex, locked};
use crate::{Key, Kind, Scope};

pub(crate) use delta::{Delta, Origin};
pub use entry::{Entry, Metadata};
use store::Store;

/// One list and watch of a kind in a scope, shared by all who read it. Clones are cheap.
#[derive(Clone)]
pub(crate) struct Informer {
    shared: Arc<Shared>,
}

struct Shared {
    kind: Kind,
    scope: Scope,
    store: Store,
    synced: SetOnce<()>,
    /// How often everything was listed.
    lists: watch::Sender<u64>,
    watches: AtomicU64,
    failures: AtomicU64,
}

/// How it goes with the caches of a kind, those of all scopes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Follows {
    /// How many objects are known.
    pub objects: usize,
    /// How often everything was listed.
    pub lists: u64,
    /// How often a watch went on where an earlier one, or a list, had ended.
    pub watches: u64,
    /// How often a list or a watch failed.
    pub failures: u64,
}

/// All informers of a program: whoever asks for the same kind and scope gets the same.
#[derive(Clone, Default)]
pub struct Informers {
    all: Arc<Mutex<Vec<Informer>>>,
}

/// Ends with its owner.
pub(crate) struct Subscription {
    informer: Informer,
    number: u64,
}

impl Informers {
    /// Makes a place for informers.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn informer(&self, kind: Kind, scope: Scope) -> Informer {
        let mut all = locked(self.all.lock());
        let known = all
            .iter()
            .find(|known| known.shared.kind == kind && known.shared.scope == scope);
        if let Some(known) = known {
            return known.clone();
        }
        let informer = Informer {
            shared: Arc::new(Shared {
                kind,
                scope,
                store: Store::new(),
                synced: SetOnce::new(),
                lists: watch::Sender::new(0),
                watches: AtomicU64::new(0),
                failures: AtomicU64::new(0),
            }),
        };
        all.push(informer.clone());
        informer
    }

    /// Follows everything that was asked for until it is dropped. What is asked for later is not followed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends all watches. What is known stays, and is brought up to date by the next call.
    pub async fn run(&self, client: Client) {
        let mut followers = JoinSet::new();
        for informer in self.all() {
            followers.spawn(follow::follow(client.clone(), informer));
        }
        while let Some(ended) = followers.join_next().await {
            if let Err(error) = ended
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
        std::future::pending::<()>().await;
    }

    /// Waits until everything that was asked for is known.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn synced(&self) {
        for informer in self.all() {
            informer.synced().await;
        }
    }

    /// Returns the kinds that are not known yet.
    pub fn missing(&self) -> Vec<String> {
        self.all()
            .iter()
            .filter(|informer| !informer.shared.synced.initialized())
            .map(|informer| informer.kind().to_string())
            .collect()
    }

    /// Returns how it goes with the caches of each kind.
    pub fn follows(&self) -> BTreeMap<String, Follows> {
        let mut kinds: BTreeMap<String, Follows> = BTreeMap::new();
        for informer in self.all() {
            let follows = kinds.entry(informer.kind().to_string()).or_default();
            let shared = &informer.shared;
            follows.objects += shared.store.len();
            follows.lists += *shared.lists.borrow();
            follows.watches += shared.watches.load(Ordering::Relaxed);
            follows.failures += shared.failures.load(Ordering::Relaxed);
        }
        kinds
    }

    fn all(&self) -> Vec<Informer> {
        locked(self.all.lock()).clone()
    }
}

impl Informer {
    pub(crate) fn kind(&self) -> &Kind {
        &self.shared.kind
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.shared.scope
    }

    /// Waits until everything is known.
    pub(crate) async fn synced(&self) {
        self.shared.synced.wait().await;
    }

    /// Tells of every list from now on. What came and went between the end of a watch and such a list is told by no event.
    pub(crate) fn lists(&self) -> watch::Receiver<u64> {
        self.shared.lists.subscribe()
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Entry>> {
        self.shared.store.get(key)
    }

    pub(crate) fn select(&self, pick: impl FnMut(&Key) -> bool) -> Vec<Arc<Entry>> {
        self.shared.store.select(pick)
    }

    /// Calls a function for everything that is known, and for every change as soon as it is known.
    pub(crate) fn subscribe(
        &self,
        subscriber: impl Fn(&Delta) + Send + Sync + 'static,
    ) -> Subscription {
        Subscription {
            number: self.shared.store.subscribe(Arc::new(subscriber)),
            informer: self.clone(),
        }
    }

    fn store(&self) -> &Store {
        &self.shared.store
    }

    fn watches_on(&self) {
        self.shared.watches.fetch_add(1, Ordering::Relaxed);
    }

    fn has_failed(&self) {
        self.shared.failures.fetch_add(1, Ordering::Relaxed);
    }

    fn is_known(&self) {
        self.shared.lists.send_modify(|lists| *lists += 1);
        // It is known again and again: every list that is read anew ends here.
        drop(self.shared.synced.set(()));
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.informer.shared.store.unsubscribe(self.number);
    }
}

impl fmt::Debug for Informers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.all()).finish()
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
