//! Where objects are kept: one revision counter, ordered keys, compare-and-swap, and a watch log with compaction.
//!
//! The handlers use only what stands here: [`Store::get`], [`Store::list`], the three commits and
//! [`Store::watch`]. Reads are always answered from memory; another backend would have to follow the same log and
//! take over the commits.

mod compaction;
mod event;
mod follower;
mod object;
mod table;
mod watcher;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::watch;
use tokio::time::Duration;

pub(crate) use compaction::compact_every;
pub(crate) use event::{Change, Event, line};
pub(crate) use follower::Follower;
pub(crate) use object::{Draft, Object, ReadBack};
use table::Table;
pub(crate) use watcher::Watcher;

use crate::seed::Seed;

/// The revision of an empty store: etcd's first write has revision 2; clients treat 0 as "any".
pub(crate) const FIRST_REVISION: u64 = 1;

/// All objects of one server.
#[derive(Debug)]
pub(crate) struct Store {
    state: RwLock<State>,
    limits: Limits,
    /// How long every write of a client takes; none: no time at all.
    latency: Option<Duration>,
    /// What is there from the beginning; a resource's objects are read when the resource is first asked for.
    seed: Option<Seed>,
    /// The revision of the last write.
    written: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    revision: u64,
    /// The oldest revision whose state can still be read.
    compacted: u64,
    tables: HashMap<String, Table>,
}

/// How much of the past each resource's watch log keeps. Beyond it, watchers get 410.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

/// Which state a list shall show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// The present.
    Now,
    /// The present, which must not be older than this revision.
    NotOlderThan(u64),
    /// Exactly this revision.
    Exactly(u64),
}

/// What a list found.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) revision: u64,
    pub(crate) objects: Vec<Arc<Object>>,
    /// How many objects of the range follow behind the limit.
    pub(crate) remaining: usize,
}

/// Why a revision cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutOfRange {
    /// The log no longer reaches back that far.
    TooOld { oldest: u64 },
    /// No write has reached this revision yet.
    TooNew { current: u64 },
}

/// The object was not what the writer thought it was: as it is now, if it exists.
#[derive(Debug)]
pub(crate) struct Raced(pub(crate) Option<Arc<Object>>);

impl Default for Limits {
    fn default() -> Self {
        Self {
            events: 8192,
            bytes: 32 << 20,
        }
    }
}

impl Store {
    /// A store that holds nothing, or the first objects of a server.
    pub(crate) fn new(limits: Limits, seed: Option<Seed>) -> Self {
        let revision = seed.as_ref().map_or(FIRST_REVISION, |_| Seed::revision());
        Self {
            state: RwLock::new(State {
                revision,
                compacted: 0,
                tables: HashMap::new(),
            }),
            limits,
            latency: None,
            seed,
            written: watch::Sender::new(revision),
        }
    }

    /// The same store, in which a write takes so long.
    pub(crate) fn with_latency(self, latency: Duration) -> Self {
        let latency = Some(latency).filter(|latency| !latency.is_zero());
        Self { latency, ..self }
    }

    /// Waits as long as a write takes. Writes for a client wait before they are made, so conflicts show afterwards.
    pub(crate) async fn write_latency(&self) {
        if let Some(latency) = self.latency {
            tokio::time::sleep(latency).await;
        }
    }

    /// The state, with the first objects of the resource in it.
    fn read(&self, table: &str) -> RwLockReadGuard<'_, State> {
        let state = self.state.read();
        if self.seed.is_none() || state.tables.contains_key(table) || !Seed::has(table) {
            return state;
        }
        drop(state);
        RwLockWriteGuard::downgrade(self.write(table))
    }

    /// The state, to be changed, with a table for the resource.
    fn write(&self, table: &str) -> RwLockWriteGuard<'_, State> {
        let mut state = self.state.write();
        if !state.tables.contains_key(table) {
            let mut made = Table::new();
            let first = self.seed.as_ref().map(|seed| seed.objects(table));
            for (revision, path, draft) in first.into_iter().flatten() {
                let object = Arc::new(draft.at(path.to_owned(), revision));
                made.record(Change::Added, object, self.limits);
            }
            state.tables.insert(table.to_owned(), made);
        }
        state
    }

    /// The revision of the last write.
    pub(crate) fn revision(&self) -> u64 {
        self.state.read().revision
    }

    /// The revision of a resource's last change; 0 if there never was one.
    pub(crate) fn changed(&self, table: &str) -> u64 {
        let state = self.read(table);
        state.tables.get(table).map_or(0, Table::changed)
    }

    /// One object.
    pub(crate) fn get(&self, table: &str, path: &str) -> Option<Arc<Object>> {
        self.read(table).tables.get(table)?.get(path).cloned()
    }

    /// The objects of a namespace (all namespaces if it is empty), in key order from `from` on, at most `limit`.
    pub(crate) fn list(
        &self,
        table: &str,
        namespace: &str,
        from: &str,
        limit: usize,
        at: At,
    ) -> Result<Listed, OutOfRange> {
        let state = self.read(table);
        let current = state.revision;
        if let At::NotOlderThan(revision) | At::Exactly(revision) = at
            && revision > current
        {
            return Err(OutOfRange::TooNew { current });
        }
        let revision = match at {
            At::Exactly(revision) => revision,
            At::Now | At::NotOlderThan(_) => current,
        };
        let (objects, remaining) = match state.tables.get(table) {
            None => (Vec::new(), 0),
            Some(table) if revision == current => table.range(namespace, from, limit),
            Some(table) if revision < state.compacted.max(table.compacted()) => {
                let oldest = state.compacted.max(table.compacted());
                return Err(OutOfRange::TooOld { oldest });
            }
            Some(table) => table.range_at(revision, namespace, from, limit),
        };
        Ok(Listed {
            revision,
            objects,
            remaining,
        })
    }

    /// What has happened to a resource since a revision, oldest first.
    pub(crate) fn events_after(
        &self,
        table: &str,
        revision: u64,
    ) -> Result<Vec<Arc<Event>>, OutOfRange> {
        let state = self.read(table);
        let Some(table) = state.tables.get(table) else {
            return Ok(Vec::new());
        };
        if revision < table.compacted() {
            let oldest = table.compacted();
            return Err(OutOfRange::TooOld { oldest });
        }
        Ok(table.events_after(revision, usize::MAX))
    }

    /// Writes a new object.
    pub(crate) fn create(
        &self,
        table: &str,
        path: &str,
        draft: Draft,
    ) -> Result<Arc<Object>, Raced> {
        self.commit(table, path, None, Change::Added, draft)
    }

    /// Replaces an object that is still at `expected`.
    pub(crate) fn replace(
        &self,
        table: &str,
        path: &str,
        expected: u64,
        draft: Draft,
    ) -> Result<Arc<Object>, Raced> {
        self.commit(table, path, Some(expected), Change::Modified, draft)
    }

    /// Removes an object that is still at `expected`; `last` is what watchers see.
    pub(crate) fn delete(
        &self,
        table: &str,
        path: &str,
        expected: u64,
        last: Draft,
    ) -> Result<Arc<Object>, Raced> {
        self.commit(table, path, Some(expected), Change::Deleted, last)
    }

    /// Follows the changes of a resource after a revision.
    pub(crate) fn watch(self: &Arc<Self>, table: &str, after: u64) -> Watcher {
        let changed = {
            let mut state = self.write(table);
            let made = state.tables.entry(table.to_owned());
            made.or_insert_with(Table::new).subscribe()
        };
        Watcher::new(self.clone(), table.to_owned(), after, changed)
    }

    /// Follows the changes of all resources.
    pub(crate) fn follow(self: &Arc<Self>) -> Follower {
        Follower::new(self.clone())
    }

    /// Tells of every write.
    pub(crate) fn written(&self) -> watch::Receiver<u64> {
        self.written.subscribe()
    }

    /// Forgets the past before a revision, as etcd's compaction does.
    pub(crate) fn compact(&self, revision: u64) {
        for table in Seed::tables().filter(|_| self.seed.is_some()) {
            drop(self.read(table));
        }
        let mut state = self.state.write();
        state.compacted = state.compacted.max(revision);
        for table in state.tables.values_mut() {
            table.forget_until(revision);
        }
    }

    fn commit(
        &self,
        table: &str,
        path: &str,
        expected: Option<u64>,
        change: Change,
        draft: Draft,
    ) -> Result<Arc<Object>, Raced> {
        let mut state = self.write(table);
        let state = &mut *state;
        let Some(table) = state.tables.get_mut(table) else {
            return Err(Raced(None));
        };
        let present = table.get(path);
        if present.map(|object| object.revision) != expected {
            return Err(Raced(present.cloned()));
        }
        state.revision += 1;
        let object = Arc::new(draft.at(path.to_owned(), state.revision));
        table.record(change, object.clone(), self.limits);
        self.written.send_replace(object.revision);
        Ok(object)
    }
}

#[cfg(test)]
mod tests;
