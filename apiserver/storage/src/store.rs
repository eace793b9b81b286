//! The store itself: reads and the three commits.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::Duration;

use crate::backend::{Backend, BackendError};
use crate::event::{Change, Event};
use crate::initial::InitialObjects;
use crate::object::{Draft, Object};
use crate::table::{Limits, Table};

/// The revision of an empty store: etcd's first write has revision 2; clients treat 0 as "any".
pub const FIRST_REVISION: u64 = 1;

/// All objects of one server, by resource (`deployments.apps`) and path (`default/web`, or the name alone).
///
/// ```
/// use kubewright_storage::{At, CommitError, Draft, Limits, Raced, Store};
/// use serde_json::json;
///
/// let store = Store::new(Limits::default());
/// let web = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "default"}});
/// let first = store.create("configmaps", "default/web", Draft::new(&web))?;
/// let second = store.replace("configmaps", "default/web", first.revision, Draft::new(&web))?;
///
/// // The second write won the race.
/// let lost = store.delete("configmaps", "default/web", first.revision, Draft::new(&web));
/// assert!(matches!(lost, Err(CommitError::Raced(Raced(Some(winner)))) if winner.revision == second.revision));
///
/// let past = store.list("configmaps", "default", "", 500, At::Exactly(first.revision))?;
/// assert_eq!(past.objects[0].revision, first.revision);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Store {
    pub(crate) state: RwLock<State>,
    limits: Limits,
    /// How long every write of a client takes; none: no time at all.
    latency: Option<Duration>,
    /// Those of a resource are read when the resource is first asked for.
    initial: Option<Box<dyn InitialObjects>>,
    /// Where objects are kept when the process ends; none: nowhere.
    backend: Option<Box<dyn Backend>>,
    /// The revision of the last write.
    written: watch::Sender<u64>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) revision: u64,
    /// The oldest revision whose state can still be read.
    compacted: u64,
    /// The revision at which the store opened: no log has the changes up to it.
    opened: u64,
    pub(crate) tables: HashMap<String, Table>,
}

/// The state that a list shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "what a client can ask for by resourceVersionMatch"
)]
pub enum At {
    /// The present.
    Now,
    /// The present, which must not be older than this revision.
    NotOlderThan(u64),
    /// Exactly this revision.
    Exactly(u64),
}

/// The result of a list.
#[derive(Debug)]
#[non_exhaustive]
pub struct Listed {
    /// The revision of the state.
    pub revision: u64,
    /// The objects, in the order of their paths.
    pub objects: Vec<Arc<Object>>,
    /// The number of objects of the range behind the limit.
    pub remaining: usize,
}

/// Why a revision cannot be read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a revision is on one side or the other"
)]
pub enum OutOfRange {
    /// The log no longer reaches back that far.
    #[error("the oldest revision is {oldest}")]
    TooOld {
        /// The oldest revision that can be read.
        oldest: u64,
    },
    /// No write has reached this revision yet.
    #[error("the current revision is {current}")]
    TooNew {
        /// The revision of the last write.
        current: u64,
    },
}

/// The object is not at the revision that the writer expected: the object as it is now, if it exists.
#[derive(Debug, Error)]
#[error("the object has been modified")]
#[expect(
    clippy::exhaustive_structs,
    reason = "the winner of the race is all there is"
)]
pub struct Raced(pub Option<Arc<Object>>);

/// The reason why a write is not committed.
#[derive(Debug, Error)]
#[expect(
    clippy::exhaustive_enums,
    reason = "callers handle a lost race, and pass on a failure"
)]
pub enum CommitError {
    /// Another writer was first: read the object again.
    #[error(transparent)]
    Raced(#[from] Raced),
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl Store {
    /// Returns an empty store.
    pub fn new(limits: Limits) -> Self {
        Self {
            state: RwLock::new(State {
                revision: FIRST_REVISION,
                compacted: 0,
                opened: 0,
                tables: HashMap::new(),
            }),
            limits,
            latency: None,
            initial: None,
            backend: None,
            written: watch::Sender::new(FIRST_REVISION),
        }
    }

    /// Returns a store that has objects from the beginning.
    pub fn with_initial_objects(limits: Limits, initial: impl InitialObjects + 'static) -> Self {
        let revision = initial.revision();
        let mut store = Self::new(limits);
        store.state.get_mut().revision = revision;
        store.written.send_replace(revision);
        Self {
            initial: Some(Box::new(initial)),
            ..store
        }
    }

    /// Opens a store on a backend, with the objects that it holds.
    ///
    /// # Errors
    /// The backend cannot be read, or holds entries that no store has written.
    pub fn open(backend: impl Backend + 'static) -> Result<Self, BackendError> {
        let contents = backend.load()?;
        let mut store = Self::new(Limits::default());
        let state = store.state.get_mut();
        state.revision = contents.revision.max(FIRST_REVISION);
        state.compacted = state.revision;
        state.opened = state.revision;
        for (key, value) in &contents.entries {
            let resource_and_path = key.split_once('/');
            let (resource, object) = resource_and_path
                .and_then(|(resource, path)| Some((resource, Object::kept(path, value)?)))
                .ok_or_else(|| BackendError::foreign(key))?;
            let table = state.tables.entry(resource.to_owned());
            table
                .or_insert_with(|| Table::compacted_at(state.opened))
                .restore(Arc::new(object));
        }
        store.written.send_replace(state.revision);
        store.backend = Some(Box::new(backend));
        Ok(store)
    }

    /// Writes the objects that a cluster has from the beginning, unless they were written before.
    ///
    /// # Errors
    /// The backend cannot keep them.
    pub fn initialize(&self, initial: &dyn InitialObjects) -> Result<(), BackendError> {
        let mut state = self.state.write();
        for resource in initial.resources() {
            // The revisions ascend: a start that was interrupted is continued where it ended.
            let written = state.revision;
            let missing = initial.of(resource).into_iter();
            for (revision, path, draft) in missing.filter(|(at, ..)| *at > written) {
                let object = draft.at(path, revision);
                self.keep(resource, Change::Added, &object)?;
                let table = state.tables.entry(resource.to_owned());
                table.or_insert_with(Table::new).record(
                    Change::Added,
                    Arc::new(object),
                    self.limits,
                );
                state.revision = revision;
            }
        }
        self.written.send_replace(state.revision);
        Ok(())
    }

    /// Sets how much of the past the watch logs keep.
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Makes writes for clients take this long; see [`Self::write_latency`].
    pub fn with_latency(self, latency: Duration) -> Self {
        let latency = Some(latency).filter(|latency| !latency.is_zero());
        Self { latency, ..self }
    }

    /// Waits as long as a write takes. Writes for a client wait before they are committed, so that conflicts show
    /// afterwards.
    pub async fn write_latency(&self) {
        if let Some(latency) = self.latency {
            tokio::time::sleep(latency).await;
        }
    }

    /// The state, with the first objects of the resource in it.
    fn read(&self, resource: &str) -> RwLockReadGuard<'_, State> {
        let state = self.state.read();
        let is_complete = |initial: &dyn InitialObjects| {
            state.tables.contains_key(resource) || !initial.has(resource)
        };
        if self.initial.as_deref().is_none_or(is_complete) {
            return state;
        }
        drop(state);
        RwLockWriteGuard::downgrade(self.write(resource))
    }

    /// The state, to be changed, with a table for the resource.
    pub(crate) fn write(&self, resource: &str) -> RwLockWriteGuard<'_, State> {
        let mut state = self.state.write();
        if !state.tables.contains_key(resource) {
            let mut table = Table::compacted_at(state.opened);
            let initial = self.initial.as_ref();
            for (revision, path, draft) in initial.map(|all| all.of(resource)).into_iter().flatten()
            {
                let object = Arc::new(draft.at(path, revision));
                table.record(Change::Added, object, self.limits);
            }
            state.tables.insert(resource.to_owned(), table);
        }
        state
    }

    /// Returns the revision of the last write.
    pub fn revision(&self) -> u64 {
        self.state.read().revision
    }

    /// Returns the revision of a resource's last change; 0 if there never was one.
    pub fn changed(&self, resource: &str) -> u64 {
        let state = self.read(resource);
        state.tables.get(resource).map_or(0, Table::changed)
    }

    /// Returns an object.
    pub fn get(&self, resource: &str, path: &str) -> Option<Arc<Object>> {
        self.read(resource).tables.get(resource)?.get(path).cloned()
    }

    /// Returns the objects of a namespace (all namespaces if it is empty), in the order of their paths, from the path `from` on, at
    /// most `limit`.
    ///
    /// # Errors
    /// The revision is no longer, or not yet, there.
    pub fn list(
        &self,
        resource: &str,
        namespace: &str,
        from: &str,
        limit: usize,
        at: At,
    ) -> Result<Listed, OutOfRange> {
        let state = self.read(resource);
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
        let (objects, remaining) = match state.tables.get(resource) {
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

    /// Returns the changes of a resource after a revision, oldest first.
    ///
    /// # Errors
    /// The log no longer reaches back to the revision.
    pub fn events_after(
        &self,
        resource: &str,
        revision: u64,
    ) -> Result<Vec<Arc<Event>>, OutOfRange> {
        let state = self.read(resource);
        let Some(table) = state.tables.get(resource) else {
            return Ok(Vec::new());
        };
        if revision < table.compacted() {
            let oldest = table.compacted();
            return Err(OutOfRange::TooOld { oldest });
        }
        Ok(table.events_after(revision, usize::MAX))
    }

    /// Writes a new object.
    ///
    /// # Errors
    /// The object exists, or the backend failed.
    pub fn create(
        &self,
        resource: &str,
        path: &str,
        draft: Draft,
    ) -> Result<Arc<Object>, CommitError> {
        self.commit(resource, path, None, Change::Added, draft)
    }

    /// Replaces an object that is still at the revision `expected`.
    ///
    /// # Errors
    /// The object is at another revision, or does not exist; or the backend failed.
    pub fn replace(
        &self,
        resource: &str,
        path: &str,
        expected: u64,
        draft: Draft,
    ) -> Result<Arc<Object>, CommitError> {
        self.commit(resource, path, Some(expected), Change::Modified, draft)
    }

    /// Removes an object that is still at the revision `expected`. Watchers see `last`.
    ///
    /// # Errors
    /// The object is at another revision, or does not exist; or the backend failed.
    pub fn delete(
        &self,
        resource: &str,
        path: &str,
        expected: u64,
        last: Draft,
    ) -> Result<Arc<Object>, CommitError> {
        self.commit(resource, path, Some(expected), Change::Deleted, last)
    }

    /// Returns a receiver of the revision of each write.
    pub fn written(&self) -> watch::Receiver<u64> {
        self.written.subscribe()
    }

    /// Forgets the changes up to a revision, as etcd's compaction does.
    pub fn compact(&self, revision: u64) {
        for resource in self.initial.iter().flat_map(|initial| initial.resources()) {
            drop(self.read(resource));
        }
        let mut state = self.state.write();
        state.compacted = state.compacted.max(revision);
        for table in state.tables.values_mut() {
            table.forget_until(revision);
        }
    }

    fn commit(
        &self,
        resource: &str,
        path: &str,
        expected: Option<u64>,
        change: Change,
        draft: Draft,
    ) -> Result<Arc<Object>, CommitError> {
        let mut state = self.write(resource);
        let state = &mut *state;
        let Some(table) = state.tables.get_mut(resource) else {
            return Err(Raced(None).into());
        };
        let present = table.get(path);
        if present.map(|object| object.revision) != expected {
            return Err(Raced(present.cloned()).into());
        }
        let object = Arc::new(draft.at(path.to_owned(), state.revision + 1));
        self.keep(resource, change, &object)?;
        state.revision = object.revision;
        table.record(change, object.clone(), self.limits);
        self.written.send_replace(object.revision);
        Ok(object)
    }

    /// Commits a change to the backend, if there is one.
    fn keep(&self, resource: &str, change: Change, object: &Object) -> Result<(), BackendError> {
        let Some(backend) = &self.backend else {
            return Ok(());
        };
        let key = format!("{resource}/{}", object.path);
        let value = (change != Change::Deleted).then(|| object.to_kept());
        backend.commit(&key, value.as_deref(), object.revision)
    }
}

#[cfg(test)]
mod kept;
#[cfg(test)]
mod tests;
