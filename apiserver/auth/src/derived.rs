//! What decisions are made by: derived from stored objects, and brought up to date when it is asked.

use std::fmt;
use std::sync::Arc;

use kubewright_storage::{At, Change, Object, Store};
use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Something that follows from the objects of some resources.
pub(super) trait Derived: Default {
    /// The resources, as the store names them.
    const TABLES: &'static [&'static str];

    /// Takes up an object as it is now.
    fn put(&mut self, table: &'static str, object: &Object);

    /// Takes up that an object is gone.
    fn remove(&mut self, table: &'static str, path: &str);
}

/// What follows from the objects of a store as they are now: what has been written counts at once.
#[derive(Debug)]
pub(super) struct UpToDate<T> {
    store: Arc<Store>,
    kept: RwLock<Kept<T>>,
}

#[derive(Debug)]
struct Kept<T> {
    derived: T,
    /// How far the changes of each resource have been taken up.
    seen: Vec<u64>,
}

impl<T: Derived + fmt::Debug> UpToDate<T> {
    pub(super) fn new(store: Arc<Store>) -> Self {
        let kept = RwLock::new(Kept::default());
        Self { store, kept }
    }

    pub(super) fn read(&self) -> MappedRwLockReadGuard<'_, T> {
        let kept = self.kept.read();
        if kept.is_current(&self.store) {
            return RwLockReadGuard::map(kept, |kept| &kept.derived);
        }
        drop(kept);
        let mut kept = self.kept.write();
        kept.follow(&self.store);
        RwLockReadGuard::map(RwLockWriteGuard::downgrade(kept), |kept| &kept.derived)
    }
}

impl<T: Derived> Default for Kept<T> {
    fn default() -> Self {
        Self {
            derived: T::default(),
            seen: vec![0; T::TABLES.len()],
        }
    }
}

impl<T: Derived> Kept<T> {
    fn is_current(&self, store: &Store) -> bool {
        let mut tables = T::TABLES.iter().zip(&self.seen);
        tables.all(|(table, seen)| store.changed(table) == *seen)
    }

    fn follow(&mut self, store: &Store) {
        for (seen, table) in self.seen.iter_mut().zip(T::TABLES) {
            if store.changed(table) == *seen {
                continue;
            }
            let Ok(changes) = store.events_after(table, *seen) else {
                return self.read_anew(store);
            };
            for event in &changes {
                if event.change == Change::Deleted {
                    self.derived.remove(table, &event.object.path);
                } else {
                    self.derived.put(table, &event.object);
                }
                *seen = event.object.revision;
            }
        }
    }

    /// Reads everything, when some changes are forgotten that were not seen.
    fn read_anew(&mut self, store: &Store) {
        *self = Self::default();
        for (seen, table) in self.seen.iter_mut().zip(T::TABLES) {
            let Ok(listed) = store.list(table, "", "", usize::MAX, At::Now) else {
                continue;
            };
            for object in &listed.objects {
                self.derived.put(table, object);
            }
            *seen = store.changed(table).min(listed.revision);
        }
    }
}
