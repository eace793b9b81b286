//! What an informer knows, and who wants to know of changes.
//!
//! This file is compiled a second time by the loom model in `tests/`: it takes locks from `super::sync` and knows of no
//! runtime.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Weak};

use super::Key;
use super::ahead::{Ahead, Begun, Behind, Effect, Heard, Kept, Lost, Seen};
use super::delta::{Delta, Origin};
use super::entry::Entry;
use super::index::Indexed;
use super::sync::{Mutex, RwLock, locked};

type Objects = BTreeMap<Key, Arc<Entry>>;
type Subscriber = Arc<dyn Fn(&Delta) + Send + Sync>;

/// The objects of one kind and scope. Readers see a change before any subscriber hears of it.
pub(crate) struct Store {
    objects: RwLock<Objects>,
    /// Every change of the objects holds this lock first.
    subscribers: Mutex<Subscribers>,
    /// Whether labels narrow the scope, so that objects leave it without being deleted.
    by_labels: bool,
}

struct Subscribers {
    next: u64,
    all: Vec<(u64, Subscriber)>,
    ahead: Ahead,
    /// Those that still have a handle.
    indexes: Vec<Weak<dyn Indexed>>,
}

/// A list on its way in: it replaces what is known when it is complete.
#[derive(Default)]
pub(crate) struct Snapshot {
    objects: Objects,
    begun: Begun,
    /// Whether the API server is not the one whose objects are known.
    is_another: bool,
}

impl Store {
    pub(crate) fn new(by_labels: bool) -> Self {
        Self {
            objects: RwLock::new(Objects::new()),
            subscribers: Mutex::new(Subscribers {
                next: 0,
                all: Vec::new(),
                ahead: Ahead::default(),
                indexes: Vec::new(),
            }),
            by_labels,
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

    /// The objects at the places that an index names, in that order. The index and the objects are those of one moment.
    pub(crate) fn at(&self, places: impl FnOnce() -> Vec<Key>) -> Vec<Arc<Entry>> {
        let objects = locked(self.objects.read());
        let places = places();
        let found = places.iter().filter_map(|key| objects.get(key));
        found.cloned().collect()
    }

    /// Keeps an index up to date from now on, for as long as a handle on it exists.
    pub(crate) fn index(&self, index: &Arc<dyn Indexed>) {
        let mut subscribers = locked(self.subscribers.lock());
        let objects = self.select(|_| true);
        let mut entries = objects.iter().map(|entry| &**entry);
        let replaces = index.replace(&mut entries, &|_| false);
        let objects = locked(self.objects.write());
        replaces();
        drop(objects);
        subscribers.indexes.push(Arc::downgrade(index));
    }

    /// Calls a function with every object, in order. Changes may come between two of them: none waits until all were visited.
    pub(crate) fn visit(&self, mut visit: impl FnMut(&Entry)) {
        let mut last: Option<Key> = None;
        loop {
            let objects = locked(self.objects.read());
            let begin = last.as_ref().map_or(Unbounded, Excluded);
            let mut next = None;
            for (key, entry) in objects.range((begin, Unbounded)).take(AT_A_TIME) {
                visit(entry);
                next = Some(key.clone());
            }
            drop(objects);
            if next.is_none() {
                return;
            }
            last = next;
        }
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

    /// Takes the present state of an object from the watch. One that is known already is no news.
    pub(crate) fn set(&self, entry: Arc<Entry>) {
        let mut subscribers = locked(self.subscribers.lock());
        let heard = subscribers.ahead.hear(entry.key(), seen(&entry));
        if heard == Heard::Overtaken {
            return;
        }
        let known = self.get(entry.key());
        if known.is_some_and(|known| known.version() == entry.version()) {
            // What the watch brings takes less memory than what a response has brought.
            if heard == Heard::Confirmed {
                locked(self.objects.write()).insert(entry.key().clone(), entry);
            }
            return;
        }
        let old = self.change(&mut subscribers, entry.key(), Some(&entry));
        subscribers.tell(old, Some(entry), Origin::Watch);
    }

    /// Takes the end of an object from the watch.
    pub(crate) fn remove(&self, entry: &Entry) {
        let mut subscribers = locked(self.subscribers.lock());
        let ahead = &mut subscribers.ahead;
        let heard = ahead.hear_end(entry.key(), seen(entry), self.by_labels);
        if heard == Heard::News {
            let old = self.change(&mut subscribers, entry.key(), None);
            subscribers.tell(old, None, Origin::Watch);
        }
    }

    /// Takes an object from the response to a write of this program, unless the cache knows that state or a later one.
    /// `is_within` is whether it is in the scope.
    pub(crate) fn write(&self, entry: &Arc<Entry>, is_within: bool) {
        let mut subscribers = locked(self.subscribers.lock());
        let (key, known) = (entry.key(), self.get(entry.key()));
        let known = known.as_deref().map(seen);
        let effect = subscribers.ahead.write(key, seen(entry), known, is_within);
        let new = match effect {
            None => return,
            Some(Effect::Sets) => Some(entry),
            Some(Effect::Removes) => None,
        };
        let old = self.change(&mut subscribers, key, new);
        subscribers.tell(old, new.cloned(), Origin::Watch);
    }

    /// Takes a deletion by this program: an object is gone for good that existed in this version; empty: in an unknown one.
    pub(crate) fn delete(&self, key: &Key, uid: &str, version: &str) {
        let mut subscribers = locked(self.subscribers.lock());
        let (object, known) = (Seen { uid, version }, self.get(key));
        let known = known.as_deref().map(seen);
        if subscribers.ahead.delete(key, object, known, self.by_labels) {
            let old = self.change(&mut subscribers, key, None);
            subscribers.tell(old, None, Origin::Watch);
        }
    }

    /// Whether writes of this program matter: not before the first list.
    pub(crate) fn is_following(&self) -> bool {
        locked(self.subscribers.lock()).ahead.is_following()
    }

    /// Whether the watch has yet to show writes of this program.
    pub(crate) fn is_ahead(&self) -> bool {
        locked(self.subscribers.lock()).ahead.is_ahead()
    }

    /// Takes a bookmark.
    pub(crate) fn reach(&self, version: &str) -> Result<(), Lost> {
        locked(self.subscribers.lock()).ahead.reach(version)
    }

    /// Begins a check of the version that the API server is at, before it is asked.
    pub(crate) fn begin_check(&self) -> Begun {
        locked(self.subscribers.lock()).ahead.begin()
    }

    /// Takes the version that the API server is at.
    pub(crate) fn check(&self, check: &Begun, version: &str) -> Result<(), Behind> {
        locked(self.subscribers.lock()).ahead.check(check, version)
    }

    /// Begins a list, before it is asked for.
    ///
    /// An API server that was restored from a backup is another one: it gives the versions that it has lost to other states, so
    /// that what bears a known version is news all the same.
    pub(crate) fn begin_list(&self, is_another: bool) -> Snapshot {
        Snapshot {
            begun: locked(self.subscribers.lock()).ahead.begin(),
            is_another,
            objects: Objects::new(),
        }
    }

    /// Takes a complete list of this version: what is not in it is gone, unless this program has written it since the list
    /// began. A list that is older than what was known before it began is refused.
    pub(crate) fn replace(&self, mut snapshot: Snapshot, version: &str) -> Result<(), Behind> {
        let mut subscribers = locked(self.subscribers.lock());
        let is_another = snapshot.is_another;
        let listed = |key: &Key| snapshot.objects.get(key).map(|entry| seen(entry));
        let ahead = &mut subscribers.ahead;
        let kept = ahead.list(&snapshot.begun, is_another, version, listed)?;
        for kept in kept {
            match kept {
                Kept::AsWritten(key) => {
                    if let Some(known) = self.get(&key) {
                        snapshot.objects.insert(key, known);
                    }
                }
                Kept::Absent(key) => snapshot.remove(&key),
            }
        }
        let is_same = |known: &Entry, new: &Entry| {
            std::ptr::eq(known, new) || !is_another && known.version() == new.version()
        };
        let mut old = self.exchange(&mut subscribers, snapshot.objects.clone(), is_same);
        for (key, new) in snapshot.objects {
            let known = old.remove(&key);
            if !known.as_ref().is_some_and(|known| is_same(known, &new)) {
                subscribers.tell(known, Some(new), Origin::Snapshot);
            }
        }
        for gone in old.into_values() {
            subscribers.tell(Some(gone), None, Origin::Snapshot);
        }
        Ok(())
    }

    /// The kind is not served any more: there are no objects, and there was no write.
    pub(crate) fn clear(&self) {
        let mut subscribers = locked(self.subscribers.lock());
        subscribers.ahead = Ahead::default();
        let old = self.exchange(&mut subscribers, Objects::new(), |_, _| false);
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
            .filter(|known| {
                !snapshot.is_another && known.is_packed() && known.version() == entry.version()
            })
            .unwrap_or_else(|| Arc::new(pack(entry)));
        snapshot.objects.insert(entry.key().clone(), entry);
    }

    /// Sets or removes an object, here and in the indexes, and returns what it was.
    fn change(
        &self,
        subscribers: &mut Subscribers,
        key: &Key,
        new: Option<&Arc<Entry>>,
    ) -> Option<Arc<Entry>> {
        let indexes = subscribers.indexes();
        let changes = indexes
            .iter()
            .map(|index| index.change(key, new.map(|new| &**new)));
        let changes: Vec<_> = changes.collect();
        let mut objects = locked(self.objects.write());
        let old = match new {
            Some(new) => objects.insert(key.clone(), Arc::clone(new)),
            None => objects.remove(key),
        };
        for change in changes {
            change();
        }
        old
    }

    /// Sets all objects, here and in the indexes, and returns what there was.
    fn exchange(
        &self,
        subscribers: &mut Subscribers,
        all: Objects,
        is_same: impl Fn(&Entry, &Entry) -> bool,
    ) -> Objects {
        let is_known = |new: &Entry| {
            let known = self.get(new.key());
            known.is_some_and(|known| is_same(&known, new))
        };
        let indexes = subscribers.indexes();
        let changes = indexes.iter().map(|index| {
            let mut entries = all.values().map(|entry| &**entry);
            index.replace(&mut entries, &is_known)
        });
        let changes: Vec<_> = changes.collect();
        let mut objects = locked(self.objects.write());
        for change in changes {
            change();
        }
        std::mem::replace(&mut *objects, all)
    }

    /// Forgets what keeps the cache from going back behind writes, or behind deletions alone.
    #[cfg(test)]
    pub(crate) fn forget(&self, is_forgotten: impl FnMut(bool) -> bool) {
        locked(self.subscribers.lock()).ahead.forget(is_forgotten);
    }
}

impl Snapshot {
    pub(crate) fn remove(&mut self, key: &Key) {
        self.objects.remove(key);
    }
}

impl Subscribers {
    fn indexes(&mut self) -> Vec<Arc<dyn Indexed>> {
        let indexes: Vec<_> = self.indexes.iter().filter_map(Weak::upgrade).collect();
        if indexes.len() < self.indexes.len() {
            self.indexes.retain(|index| index.strong_count() > 0);
        }
        indexes
    }

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

/// So many objects are visited while the lock is held, which takes some microseconds.
const AT_A_TIME: usize = 256;

fn seen(entry: &Entry) -> Seen<'_> {
    let (uid, version) = entry.version();
    Seen { uid, version }
}
