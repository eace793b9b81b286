//! A store on a backend that other servers write to as well: a cache of it, fed by the log of its changes.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use tokio::time::{Duration, Instant, timeout};

use crate::backend::BackendError;
use crate::blocking::blocking;
use crate::event::Change;
use crate::object::{Draft, Object};
use crate::state::{CommitError, Core, Pending, Raced, split};

/// How long a change may be on its way from the backend, as kube-apiserver waits for its watch cache.
const CHANGES_ARRIVE_WITHIN: Duration = Duration::from_secs(3);
/// After this time, the backend is asked how far its log is: it has been silent, since other keys have changed.
const PATIENCE: Duration = Duration::from_millis(2);

/// The backend of several [`Store`](crate::Store)s, such as etcd: revisions, compare-and-swap and the order of changes are the backend's.
///
/// A store reads it once, when it opens, and from then on takes the changes of every server, its own included, from the
/// [`Feed`]. Keys are `RESOURCE/PATH`; values are objects as JSON, without their `resourceVersion`.
pub trait SharedBackend: fmt::Debug + Send + Sync {
    /// Returns all entries, as they are at one revision.
    ///
    /// # Errors
    /// The entries cannot be read.
    fn load(&self) -> Result<Loaded, BackendError>;

    /// Tells the feed every change after a revision, in order, until the store of the feed is gone.
    fn follow(&self, after: u64, feed: Feed);

    /// Sets the value of a key, or removes the key if there is none, if its last change has the revision `expected`; or, if
    /// nothing is expected, if there is no such key. Blocks until the change is durable.
    ///
    /// # Errors
    /// It is not known to be durable.
    fn commit(
        &self,
        key: &str,
        expected: Option<u64>,
        value: Option<&[u8]>,
    ) -> Result<Committed, BackendError>;

    /// Returns a revision that is not older than any write that was acknowledged before the call.
    fn revision(&self) -> RevisionFuture;

    /// Asks for the revision that the log has reached: the feed is to hear of it soon.
    fn request_progress(&self);

    /// Forgets the past at intervals: every change is kept for one interval at least, and for two at most.
    fn compact_every(&self, interval: Duration, feed: Feed);
}

/// The answer to [`SharedBackend::revision`].
pub type RevisionFuture = Pin<Box<dyn Future<Output = Result<u64, BackendError>> + Send>>;

/// The contents of a shared backend at one revision.
#[derive(Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "backends build it")]
pub struct Loaded {
    /// The revision.
    pub revision: u64,
    /// All entries; each has a value.
    pub entries: Vec<Entry>,
}

/// A key of a shared backend, and its last change.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "backends build it")]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The value; none after the key was removed.
    pub value: Option<Bytes>,
    /// The revision of the change.
    pub revision: u64,
}

/// The outcome of a commit to a shared backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a compare-and-swap succeeds or does not"
)]
pub enum Committed {
    /// The change has this revision.
    At(u64),
    /// The key is at another revision than expected, as the log shows at this revision.
    Raced(u64),
}

/// What a shared backend tells a store. It does not keep the store alive.
#[derive(Clone, Debug)]
pub struct Feed {
    core: Weak<Core>,
    arrivals: Weak<Arrivals>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    backend: Box<dyn SharedBackend>,
    feed: Feed,
    arrivals: Arc<Arrivals>,
}

/// What the feed tells the writes that are under way.
#[derive(Debug)]
struct Arrivals {
    /// The writes of this server that are under way: what they become is not decoded again.
    own: Mutex<Vec<Own>>,
    /// The revision that the feed has reached.
    reached: Mutex<u64>,
    further: Condvar,
}

#[derive(Debug)]
struct Own {
    key: String,
    value: Option<Vec<u8>>,
    draft: Option<Draft>,
    object: Option<Arc<Object>>,
}

impl Shared {
    /// Takes the changes after the revision of the core.
    pub(crate) fn follow(backend: impl SharedBackend + 'static, core: &Arc<Core>) -> Self {
        let revision = core.state.read().revision;
        let arrivals = Arc::new(Arrivals {
            own: Mutex::default(),
            reached: Mutex::new(revision),
            further: Condvar::new(),
        });
        let feed = Feed {
            core: Arc::downgrade(core),
            arrivals: Arc::downgrade(&arrivals),
        };
        backend.follow(revision, feed.clone());
        Self {
            backend: Box::new(backend),
            feed,
            arrivals,
        }
    }

    pub(crate) fn compact_every(&self, interval: Duration) {
        self.backend.compact_every(interval, self.feed.clone());
    }

    pub(crate) async fn catch_up(&self, core: &Core) -> Result<(), BackendError> {
        let revision = self.backend.revision().await?;
        let mut written = core.written.subscribe();
        let end = Instant::now() + CHANGES_ARRIVE_WITHIN;
        let mut patience = PATIENCE;
        while Instant::now() < end {
            let reached = written.wait_for(|reached| *reached >= revision);
            if let Ok(reached) = timeout(patience, reached).await {
                return reached.map(drop).map_err(|_| BackendError::late(revision));
            }
            self.backend.request_progress();
            patience *= 2;
        }
        Err(BackendError::late(revision))
    }

    pub(crate) fn commit(
        &self,
        core: &Core,
        pending: Pending<'_>,
    ) -> Result<Arc<Object>, CommitError> {
        let Pending {
            resource,
            path,
            expected,
            change,
            draft,
        } = pending;
        let present = || core.state.read().present(&resource, &path).cloned();
        // An object that is newer than expected stays so; one that is older may only not have arrived.
        if let Some(present) = present()
            && expected.is_none_or(|expected| present.revision > expected)
        {
            return Err(Raced(Some(present)).into());
        }
        let key = format!("{resource}/{path}");
        let value = (change != Change::Deleted).then(|| draft.to_shared());
        self.arrivals.own.lock().push(Own {
            key: key.clone(),
            value: value.clone(),
            draft: Some(draft),
            object: None,
        });
        let outcome = blocking(|| {
            let committed = self.backend.commit(&key, expected, value.as_deref())?;
            let (Committed::At(revision) | Committed::Raced(revision)) = committed;
            self.wait_for(revision).map(|()| committed)
        });
        let mut all = self.arrivals.own.lock();
        let own = all
            .iter()
            .position(|own| own.key == key && own.value == value);
        let own = own.map(|own| all.swap_remove(own));
        drop(all);
        match outcome? {
            Committed::Raced(_) => Err(Raced(present()).into()),
            Committed::At(revision) => own
                .and_then(|own| match own.object {
                    Some(object) => Some(object).filter(|object| object.revision == revision),
                    None => Some(Arc::new(own.draft?.at(path.to_string(), revision))),
                })
                .or_else(|| present().filter(|present| present.revision == revision))
                .ok_or_else(|| BackendError::late(revision).into()),
        }
    }

    /// Waits until the feed has reached a revision.
    fn wait_for(&self, revision: u64) -> Result<(), BackendError> {
        let mut reached = self.arrivals.reached.lock();
        let end = Instant::now() + CHANGES_ARRIVE_WITHIN;
        let mut patience = PATIENCE;
        while *reached < revision {
            if Instant::now() >= end {
                return Err(BackendError::late(revision));
            }
            let waited = self.arrivals.further.wait_for(&mut reached, patience);
            if waited.timed_out() {
                self.backend.request_progress();
                patience *= 2;
            }
        }
        Ok(())
    }
}

impl Arrivals {
    fn reach(&self, revision: u64) {
        *self.reached.lock() = revision;
        self.further.notify_all();
    }

    /// Returns the object of an entry; that of this server's own write is made from its draft.
    fn object(&self, entry: &Entry) -> Result<Arc<Object>, BackendError> {
        let mut all = self.own.lock();
        let own = all.iter_mut().find(|own| {
            own.draft.is_some()
                && own.key == entry.key
                && own.value.as_deref() == entry.value.as_deref()
        });
        if let Some(own) = own
            && let Some(draft) = own.draft.take()
        {
            let (_, path) = split(&entry.key)?;
            let object = Arc::new(draft.at(path.to_owned(), entry.revision));
            own.object = Some(object.clone());
            return Ok(object);
        }
        drop(all);
        entry.object().map(|(_, object)| Arc::new(object))
    }
}

impl Entry {
    /// Returns the object that the entry holds, with its resource.
    pub(crate) fn object(&self) -> Result<(&str, Object), BackendError> {
        let (resource, path) = split(&self.key)?;
        let value = self.value.as_deref().unwrap_or_default();
        if value.starts_with(b"k8s\0") {
            return Err(BackendError::protobuf(&self.key));
        }
        let draft = Draft::from_shared(value).ok_or_else(|| BackendError::foreign(&self.key))?;
        Ok((resource, draft.at(path.to_owned(), self.revision)))
    }
}

impl Feed {
    /// Takes changes, oldest first, up to a revision; and returns the errors of those that are not objects, which are left out.
    pub fn change(&self, entries: &[Entry], revision: u64) -> Vec<BackendError> {
        let mut errors = Vec::new();
        let (Some(core), Some(arrivals)) = (self.core.upgrade(), self.arrivals.upgrade()) else {
            return errors;
        };
        let mut decoded = Vec::with_capacity(entries.len());
        for entry in entries {
            let object = match &entry.value {
                Some(_) => arrivals.object(entry).map(Some),
                None => Ok(None),
            };
            match split(&entry.key).and_then(|(resource, path)| Ok((resource, path, object?))) {
                Ok((resource, path, object)) => decoded.push((resource, path, entry, object)),
                Err(error) => errors.push(error),
            }
        }
        let mut state = core.state.write();
        for (resource, path, entry, object) in decoded {
            let present = state.present(resource, path).cloned();
            // A log that was interrupted may tell a change twice.
            if present
                .as_ref()
                .is_some_and(|present| present.revision >= entry.revision)
            {
                continue;
            }
            match (object, present) {
                (Some(object), Some(_)) => state.record(resource, Change::Modified, object),
                (Some(object), None) => state.record(resource, Change::Added, object),
                (None, Some(present)) => {
                    let last = Arc::new(present.deleted_at(entry.revision));
                    state.record(resource, Change::Deleted, last);
                }
                (None, None) => {}
            }
        }
        state.revision = revision.max(state.revision);
        let revision = state.revision;
        drop(state);
        core.announce(revision);
        arrivals.reach(revision);
        errors
    }

    /// Takes everything anew, because the log no longer has all that has changed: watches have to begin again.
    ///
    /// # Errors
    /// An entry is not an object; nothing is changed.
    pub fn reload(&self, loaded: &Loaded) -> Result<(), BackendError> {
        let (Some(core), Some(arrivals)) = (self.core.upgrade(), self.arrivals.upgrade()) else {
            return Ok(());
        };
        let mut tables: HashMap<&str, BTreeMap<String, Arc<Object>>> = HashMap::new();
        for entry in &loaded.entries {
            let (resource, object) = entry.object()?;
            let table = tables.entry(resource).or_default();
            table.insert(object.path.clone(), Arc::new(object));
        }
        let mut state = core.state.write();
        state.revision = loaded.revision;
        state.opened = loaded.revision;
        state.compacted = loaded.revision;
        for (resource, table) in &mut state.tables {
            let objects = tables.remove(resource.as_str()).unwrap_or_default();
            table.reload(objects, loaded.revision);
        }
        for (resource, objects) in tables {
            state.table(resource).reload(objects, loaded.revision);
        }
        drop(state);
        core.announce(loaded.revision);
        arrivals.reach(loaded.revision);
        Ok(())
    }

    /// Forgets the changes up to a revision: the backend has compacted them.
    pub fn compact(&self, revision: u64) {
        if let Some(core) = self.core.upgrade() {
            core.state.write().compact(revision);
        }
    }
}
