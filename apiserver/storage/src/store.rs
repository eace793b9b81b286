//! The store itself: reads and the three commits.

use std::panic::resume_unwind;
use std::sync::{Arc, OnceLock};
use std::thread::{self, ScopedJoinHandle};

use parking_lot::{Mutex, RwLockReadGuard, RwLockWriteGuard};
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::Duration;

use crate::backend::{Backend, BackendError, Write};
use crate::event::{Change, Event};
use crate::group::Group;
use crate::initial::InitialObjects;
use crate::object::{Draft, Object};
use crate::shared::{Shared, SharedBackend};
use crate::state::{CommitError, Core, FIRST_REVISION, Pending, State, split};
use crate::table::{Limits, Table};

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
    core: Arc<Core>,
    /// How long every write of a client takes; none: no time at all.
    latency: OnceLock<Duration>,
    /// Those of a resource are read when the resource is first asked for.
    initial: Option<Box<dyn InitialObjects>>,
    keeping: Keeping,
}

/// Where objects are kept when the process ends.
#[derive(Debug)]
enum Keeping {
    Nowhere,
    /// In a backend that no other process writes to.
    Own(Group),
    /// In a backend that other servers write to as well.
    Shared(Shared),
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

impl Store {
    /// Returns an empty store.
    pub fn new(limits: Limits) -> Self {
        Self::of(State::new(limits), Keeping::Nowhere)
    }

    fn of(state: State, keeping: Keeping) -> Self {
        Self {
            core: Arc::new(Core::new(state)),
            latency: OnceLock::new(),
            initial: None,
            keeping,
        }
    }

    /// Returns a store that has objects from the beginning.
    pub fn with_initial_objects(limits: Limits, initial: impl InitialObjects + 'static) -> Self {
        let mut state = State::new(limits);
        state.open_at(initial.opened());
        state.revision = initial.revision();
        Self {
            initial: Some(Box::new(initial)),
            ..Self::of(state, Keeping::Nowhere)
        }
    }

    /// Opens a store on a backend, with the objects that it holds.
    ///
    /// # Errors
    /// The backend cannot be read, or holds entries that no store has written.
    pub fn open(backend: impl Backend + 'static) -> Result<Self, BackendError> {
        let contents = backend.load()?;
        let mut state = State::new(Limits::default());
        state.open_at(contents.revision.max(FIRST_REVISION));
        for (key, value) in &contents.entries {
            let (resource, path) = split(key)?;
            let object = Object::kept(path, value).ok_or_else(|| BackendError::foreign(key))?;
            state.restore(resource, object);
        }
        Ok(Self::of(state, Keeping::Own(Group::new(backend))))
    }

    /// Opens a store on a backend that other servers write to as well, and follows the changes that they make.
    ///
    /// # Errors
    /// The backend cannot be read, or holds entries that no store has written.
    pub fn open_shared(backend: impl SharedBackend + 'static) -> Result<Self, BackendError> {
        let loaded = backend.load()?;
        let mut state = State::new(Limits::default());
        state.open_at(loaded.revision);
        for entry in &loaded.entries {
            let (resource, object) = entry.object()?;
            state.restore(resource, object);
        }
        let core = Arc::new(Core::new(state));
        let shared = Shared::follow(backend, &core);
        Ok(Self {
            core,
            ..Self::of(State::new(Limits::default()), Keeping::Shared(shared))
        })
    }

    /// Whether other servers write to the backend as well.
    pub fn is_shared(&self) -> bool {
        matches!(self.keeping, Keeping::Shared(_))
    }

    /// Waits until reads show every write that any server has acknowledged before the call. Without other servers, they always
    /// do.
    ///
    /// # Errors
    /// The backend does not answer, or its changes do not arrive.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn catch_up(&self) -> Result<(), BackendError> {
        match &self.keeping {
            Keeping::Shared(shared) => shared.catch_up(&self.core).await,
            Keeping::Nowhere | Keeping::Own(_) => Ok(()),
        }
    }

    /// The state of every resource, without the first objects of those that no client has asked for.
    pub(crate) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.core.state.read()
    }

    pub(crate) fn shared(&self) -> Option<&Shared> {
        match &self.keeping {
            Keeping::Shared(shared) => Some(shared),
            Keeping::Nowhere | Keeping::Own(_) => None,
        }
    }

    /// Writes the objects that a cluster has from the beginning, unless they were written before. A shared backend gets those
    /// that it does not have, as from kube-apiserver at each start.
    ///
    /// # Errors
    /// The backend cannot keep them.
    pub fn initialize(&self, initial: &dyn InitialObjects) -> Result<(), BackendError> {
        let resources = initial.resources();
        let all = resources.into_iter().flat_map(|resource| {
            let objects = initial.of(resource).into_iter();
            objects.map(move |(revision, path, draft)| (resource, revision, path, draft))
        });
        if self.is_shared() {
            let missing = all.filter(|(resource, _, path, _)| self.get(resource, path).is_none());
            let missing = missing.map(|(resource, _, path, draft)| (resource, path, draft));
            return self.create_all(missing.collect());
        }
        let mut state = self.core.state.write();
        // The revisions ascend: a start that was interrupted is continued where it ended.
        let written = state.revision;
        let missing = all.filter(|(_, revision, ..)| *revision > written);
        let objects: Vec<(&str, Arc<Object>)> = missing
            .map(|(resource, revision, path, draft)| (resource, Arc::new(draft.at(path, revision))))
            .collect();
        let Some((_, last)) = objects.last() else {
            return Ok(());
        };
        if let Keeping::Own(group) = &self.keeping {
            let write = |(resource, object): &(&str, Arc<Object>)| {
                Write::of(resource, Change::Added, object)
            };
            let writes: Vec<Write> = objects.iter().map(write).collect();
            group.backend().commit(&writes, last.revision)?;
        }
        self.core.written.send_replace(last.revision);
        for (resource, object) in objects {
            state.record(resource, Change::Added, object);
        }
        Ok(())
    }

    /// Creates objects that may exist, several at a time.
    fn create_all(&self, objects: Vec<(&str, String, Draft)>) -> Result<(), BackendError> {
        const AT_A_TIME: usize = 16;
        let objects = Mutex::new(objects.into_iter());
        let create = || {
            loop {
                let next = objects.lock().next();
                let Some((resource, path, draft)) = next else {
                    return Ok(());
                };
                if let Err(CommitError::Backend(error)) = self.create(resource, &path, draft) {
                    return Err(error);
                }
            }
        };
        thread::scope(|scope| {
            let writers: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(create)).collect();
            let mut outcomes = writers.into_iter().map(ScopedJoinHandle::join);
            outcomes.try_for_each(|outcome| outcome.unwrap_or_else(|why| resume_unwind(why)))
        })
    }

    /// Sets how much of the past the watch logs keep.
    pub fn set_limits(&self, limits: Limits) {
        self.core.state.write().limits = limits;
    }

    /// Makes writes for clients take this long, from now on and once for all; see [`Self::write_latency`].
    pub fn set_latency(&self, latency: Duration) {
        if !latency.is_zero() {
            self.latency.get_or_init(|| latency);
        }
    }

    /// Waits as long as a write takes. Writes for a client wait before they are committed, so that conflicts show
    /// afterwards.
    pub async fn write_latency(&self) {
        if let Some(latency) = self.latency.get() {
            tokio::time::sleep(*latency).await;
        }
    }

    /// The state, with the first objects of the resource in it.
    fn read(&self, resource: &str) -> RwLockReadGuard<'_, State> {
        let state = self.core.state.read();
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
        let mut state = self.core.state.write();
        if !state.tables.contains_key(resource) {
            let mut table = Table::compacted_at(state.opened);
            let limits = state.limits;
            let initial = self.initial.as_ref();
            let has_past = initial.is_some_and(|initial| initial.opened() == 0);
            for (revision, path, draft) in initial.map(|all| all.of(resource)).into_iter().flatten()
            {
                let object = Arc::new(draft.at(path, revision));
                if has_past {
                    table.record(Change::Added, object, limits);
                } else {
                    table.restore(object);
                }
            }
            state.tables.insert(resource.to_owned(), table);
        }
        state
    }

    /// Returns the revision of the last write.
    pub fn revision(&self) -> u64 {
        self.core.state.read().revision
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
        self.core.written.subscribe()
    }

    /// Reads the objects of the beginning that no client has asked for.
    pub(crate) fn read_initial(&self) {
        for resource in self.initial.iter().flat_map(|initial| initial.resources()) {
            drop(self.read(resource));
        }
    }

    /// Forgets the changes up to a revision, as etcd's compaction does.
    pub fn compact(&self, revision: u64) {
        self.read_initial();
        let mut state = self.core.state.write();
        state.compact(revision);
    }

    fn commit(
        &self,
        resource: &str,
        path: &str,
        expected: Option<u64>,
        change: Change,
        draft: Draft,
    ) -> Result<Arc<Object>, CommitError> {
        let pending = Pending {
            resource: resource.into(),
            path: path.into(),
            expected,
            change,
            draft,
        };
        match &self.keeping {
            Keeping::Own(group) => group.commit(&self.core.state, pending),
            Keeping::Shared(shared) => shared.commit(&self.core, pending),
            Keeping::Nowhere => Ok(self.write(resource).commit(pending)?),
        }
        .inspect(|object| self.core.announce(object.revision))
    }
}

#[cfg(test)]
mod kept;
#[cfg(test)]
mod tests;
