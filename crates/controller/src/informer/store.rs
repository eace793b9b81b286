//! What an informer knows, and who wants to know of changes.
//!
//! This file is compiled a second time by the loom model in `tests/`: it takes locks from `super::sync` and knows of no
//! runtime.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Key;
use super::delta::{Delta, Origin};
use super::entry::Entry;
use super::sync::{Mutex, RwLock, locked};

type Objects = BTreeMap<Key, Arc<Entry>>;
type Subscriber = Arc<dyn Fn(&Delta) + Send + Sync>;

/// The objects of one kind and scope. Readers see a change before any subscriber hears of it.
pub(crate) struct Store {
    objects: RwLock<Objects>,
    subscribers: Mutex<Subscribers>,
}

struct Subscribers {
    next: u64,
    all: Vec<(u64, Subscriber)>,
}

/// A list on its way in: it replaces what is known when it is complete.
#[derive(Default)]
pub(crate) struct Snapshot {
    objects: Objects,
    /// Whether the API server is not the one whose objects are known.
    is_another: bool,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self {
            objects: RwLock::new(Objects::new()),
            subscribers: Mutex::new(Subscribers {
                next: 0,
                all: Vec::new(),
            }),
        }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Entry>> {
        locked(self.objects.read()).get(key).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        locked(self.objects.read()).len()
    }

    /// The objects that a function picks by where they are, in order.
    pub(crate) fn select(&self, mut pick: impl FnMut(&Key) -> bool) -> Vec<Arc<Entry>> {
        locked(self.objects.read())
            .iter()
            .filter(|(key, _)| pick(key))
            .map(|(_, entry)| Arc::clone(entry))
            .collect()
    }

    /// Tells a subscriber of everything that is known, and from now on of every change: nothing between is lost.
    pub(crate) fn subscribe(&self, subscriber: Subscriber) -> u64 {
        let mut subscribers = locked(self.subscribers.lock());
        for new in self.select(|_| true) {
            subscriber(&Delta {
                old: None,
                new: Some(new),
                origin: Origin::Snapshot,
            });
        }
        let number = subscribers.next;
        subscribers.next += 1;
        subscribers.all.push((number, subscriber));
        number
    }

    pub(crate) fn unsubscribe(&self, number: u64) {
        locked(self.subscribers.lock())
            .all
            .retain(|(known, _)| *known != number);
    }

    /// Takes the present state of an object. One that is known already is no news.
    pub(crate) fn set(&self, entry: Arc<Entry>) {
        let subscribers = locked(self.subscribers.lock());
        let old = {
            let mut objects = locked(self.objects.write());
            let known = objects.get(entry.key());
            if known.is_some_and(|known| known.version() == entry.version()) {
                return;
            }
            objects.insert(entry.key().clone(), Arc::clone(&entry))
        };
        subscribers.tell(old, Some(entry), Origin::Watch);
    }

    pub(crate) fn remove(&self, key: &Key) {
        let subscribers = locked(self.subscribers.lock());
        let old = locked(self.objects.write()).remove(key);
        subscribers.tell(old, None, Origin::Watch);
    }

    /// Takes a complete list: what is not in it is gone.
    pub(crate) fn replace(&self, snapshot: Snapshot) {
        let subscribers = locked(self.subscribers.lock());
        let mut old = {
            let mut objects = locked(self.objects.write());
            std::mem::replace(&mut *objects, snapshot.objects.clone())
        };
        for (key, new) in snapshot.objects {
            let known = old.remove(&key);
            let is_known = known
                .as_ref()
                .is_some_and(|known| !snapshot.is_another && known.version() == new.version());
            if !is_known {
                subscribers.tell(known, Some(new), Origin::Snapshot);
            }
        }
        for gone in old.into_values() {
            subscribers.tell(Some(gone), None, Origin::Snapshot);
        }
    }

    /// Adds to a list. What is known in this very state is shared, so that a list that is read anew takes no memory.
    pub(crate) fn collect(
        &self,
        snapshot: &mut Snapshot,
        entry: Entry,
        pack: impl FnOnce(Entry) -> Entry,
    ) {
        let known = self.get(entry.key());
        let entry = known
            .filter(|known| !snapshot.is_another && known.version() == entry.version())
            .unwrap_or_else(|| Arc::new(pack(entry)));
        snapshot.objects.insert(entry.key().clone(), entry);
    }
}

impl Snapshot {
    /// A list of an API server that was restored from a backup, which gives the versions that it has lost to other states:
    /// what bears a known version is news all the same.
    pub(crate) fn of_another() -> Self {
        Self {
            is_another: true,
            ..Self::default()
        }
    }

    pub(crate) fn remove(&mut self, key: &Key) {
        self.objects.remove(key);
    }
}

impl Subscribers {
    fn tell(&self, old: Option<Arc<Entry>>, new: Option<Arc<Entry>>, origin: Origin) {
        if old.is_none() && new.is_none() {
            return;
        }
        let delta = Delta { old, new, origin };
        for (_, subscriber) in &self.all {
            subscriber(&delta);
        }
    }
}
