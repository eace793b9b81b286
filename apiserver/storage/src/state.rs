//! The objects of all resources at the present revision, and how a write changes them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use thiserror::Error;
use tokio::sync::watch;

use crate::backend::BackendError;
use crate::event::Change;
use crate::object::{Draft, Object};
use crate::table::{Limits, Table};

/// The revision of an empty store: etcd's first write has revision 2; clients treat 0 as "any".
pub const FIRST_REVISION: u64 = 1;

/// What a store shares with the log of a backend.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) state: RwLock<State>,
    /// The revision of the last write.
    pub(crate) written: watch::Sender<u64>,
}

/// A write that is not committed yet.
#[derive(Debug)]
pub(crate) struct Pending<'a> {
    pub(crate) resource: Cow<'a, str>,
    pub(crate) path: Cow<'a, str>,
    pub(crate) expected: Option<u64>,
    pub(crate) change: Change,
    pub(crate) draft: Draft,
}

impl Pending<'_> {
    pub(crate) fn into_owned(self) -> Pending<'static> {
        Pending {
            resource: self.resource.into_owned().into(),
            path: self.path.into_owned().into(),
            expected: self.expected,
            change: self.change,
            draft: self.draft,
        }
    }
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) limits: Limits,
    pub(crate) revision: u64,
    /// The oldest revision whose state can still be read.
    pub(crate) compacted: u64,
    /// The revision at which the store opened: no log has the changes up to it.
    pub(crate) opened: u64,
    pub(crate) tables: HashMap<String, Table>,
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

impl Core {
    pub(crate) fn new(state: State) -> Self {
        Self {
            written: watch::Sender::new(state.revision),
            state: RwLock::new(state),
        }
    }

    /// Tells those who follow every resource of a revision.
    pub(crate) fn announce(&self, revision: u64) {
        self.written.send_if_modified(|written| {
            let is_news = *written < revision;
            *written = revision.max(*written);
            is_news
        });
    }
}

impl State {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            revision: FIRST_REVISION,
            compacted: 0,
            opened: 0,
            tables: HashMap::new(),
        }
    }

    /// Begins at a revision, with no past.
    pub(crate) fn open_at(&mut self, revision: u64) {
        self.revision = revision;
        self.compacted = revision;
        self.opened = revision;
    }

    /// Takes an object that was stored before the log begins.
    pub(crate) fn restore(&mut self, resource: &str, object: Object) {
        self.table(resource).restore(Arc::new(object));
    }

    /// Forgets the changes up to a revision.
    pub(crate) fn compact(&mut self, revision: u64) {
        self.compacted = self.compacted.max(revision);
        for table in self.tables.values_mut() {
            table.forget_until(revision);
        }
    }

    pub(crate) fn table(&mut self, resource: &str) -> &mut Table {
        let opened = self.opened;
        if !self.tables.contains_key(resource) {
            let table = Table::compacted_at(opened);
            self.tables.insert(resource.to_owned(), table);
        }
        self.tables
            .get_mut(resource)
            .expect("the table was there, or was added")
    }

    pub(crate) fn present(&self, resource: &str, path: &str) -> Option<&Arc<Object>> {
        self.tables.get(resource)?.get(path)
    }

    /// Makes a change visible to readers, at the revision of the object.
    pub(crate) fn record(&mut self, resource: &str, change: Change, object: Arc<Object>) {
        self.revision = object.revision;
        let limits = self.limits;
        self.table(resource).record(change, object, limits);
    }

    pub(crate) fn commit(&mut self, pending: Pending<'_>) -> Result<Arc<Object>, Raced> {
        let present = self.present(&pending.resource, &pending.path);
        if present.map(|object| object.revision) != pending.expected {
            return Err(Raced(present.cloned()));
        }
        let object = Arc::new(
            pending
                .draft
                .at(pending.path.into_owned(), self.revision + 1),
        );
        self.record(&pending.resource, pending.change, object.clone());
        Ok(object)
    }
}

/// Returns the resource and the path of the key that an object has in a backend.
pub(crate) fn split(key: &str) -> Result<(&str, &str), BackendError> {
    key.split_once('/')
        .ok_or_else(|| BackendError::foreign(key))
}
