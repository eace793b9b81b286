//! The backend of a store: where objects are kept when the process ends.

#[cfg(feature = "file")]
mod file;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::event::Change;
use crate::object::Object;

#[cfg(feature = "file")]
pub use file::FileBackend;

/// Keeps the objects of a [`Store`](crate::Store) beyond the life of the process.
///
/// A store reads its backend once, when it opens. From then on it answers from memory, as an API server answers from its watch
/// cache, and each write is committed to the backend before a reader sees it. A store has its backend for itself: an
/// implementation must refuse to open what another process has open.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::{Arc, Mutex};
///
/// use kubewright_storage::{Backend, BackendError, Contents, Draft, Store, Write};
/// use serde_json::json;
///
/// #[derive(Clone, Debug, Default)]
/// struct Map(Arc<Mutex<(u64, BTreeMap<String, Vec<u8>>)>>);
///
/// impl Backend for Map {
///     fn load(&self) -> Result<Contents, BackendError> {
///         let (revision, entries) = self.0.lock().unwrap().clone();
///         Ok(Contents { revision, entries: entries.into_iter().collect() })
///     }
///
///     fn commit(&self, writes: &[Write], revision: u64) -> Result<(), BackendError> {
///         let mut map = self.0.lock().unwrap();
///         map.0 = revision;
///         for Write { key, value } in writes {
///             match value {
///                 Some(value) => drop(map.1.insert(key.clone(), value.clone())),
///                 None => drop(map.1.remove(key)),
///             }
///         }
///         Ok(())
///     }
/// }
///
/// let map = Map::default();
/// let web = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}});
/// let store = Store::open(map.clone())?;
/// let created = store.create("configmaps", "default/web", Draft::new(&web))?;
///
/// let again = Store::open(map)?;
/// assert_eq!(again.get("configmaps", "default/web").unwrap().json(), created.json());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Backend: fmt::Debug + Send + Sync {
    /// Returns the revision of the last commit and all entries.
    ///
    /// # Errors
    /// The entries cannot be read.
    fn load(&self) -> Result<Contents, BackendError>;

    /// Makes all these writes, in their order, and sets the revision of the last one.
    ///
    /// All are durable when this returns, and nothing is changed if it fails. Commits arrive one at a time, in the order of
    /// their revisions; writes that clients make at the same time arrive in one commit.
    ///
    /// # Errors
    /// The commit is not durable.
    fn commit(&self, writes: &[Write], revision: u64) -> Result<(), BackendError>;
}

/// One write of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a key and its value")]
pub struct Write {
    /// The key.
    pub key: String,
    /// The value that the key gets; none: its entry is removed.
    pub value: Option<Vec<u8>>,
}

impl Write {
    /// The write of a change of an object.
    pub(crate) fn of(resource: &str, change: Change, object: &Object) -> Self {
        Self {
            key: format!("{resource}/{}", object.path),
            value: (change != Change::Deleted).then(|| object.to_kept()),
        }
    }
}

/// The contents of a backend.
#[derive(Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "backends build it")]
pub struct Contents {
    /// The revision of the last commit; 0 if there was none.
    pub revision: u64,
    /// All entries: the key, and the value as it was committed.
    pub entries: Vec<(String, Vec<u8>)>,
}

/// The reason why a backend cannot read or keep an object.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{doing}")]
pub struct BackendError {
    doing: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
    is_in_use: bool,
}

impl BackendError {
    /// Returns an error that says what was being done, such as `opening the database /data/objects`, and its cause.
    pub fn new(doing: impl Into<String>, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            source: Some(Arc::from(cause.into())),
            ..Self::without_cause(doing.into())
        }
    }

    /// Says that another process uses what the backend wants to open.
    #[must_use]
    pub fn in_use(mut self) -> Self {
        self.is_in_use = true;
        self
    }

    /// Whether another process uses what the backend wants to open.
    pub fn is_in_use(&self) -> bool {
        self.is_in_use
    }

    fn without_cause(doing: String) -> Self {
        Self {
            doing,
            source: None,
            is_in_use: false,
        }
    }

    /// Returns the error of an entry that no store has written.
    pub(crate) fn foreign(key: &str) -> Self {
        Self::without_cause(format!(
            "reading the entry {key:?}: it is not an object of a store"
        ))
    }

    /// Returns the error of an entry that kube-apiserver has written.
    pub(crate) fn protobuf(key: &str) -> Self {
        Self::without_cause(format!(
            "reading the entry {key:?}: it is encoded as protobuf, as kube-apiserver does"
        ))
    }

    /// Returns the error of a backend that holds what a snapshot would replace.
    pub(crate) fn not_empty() -> Self {
        Self::without_cause("restoring a snapshot: the backend is not empty".to_owned())
    }

    /// Returns the error of a change that does not arrive.
    pub(crate) fn late(revision: u64) -> Self {
        Self::without_cause(format!(
            "waiting for the changes up to revision {revision} to arrive from the backend"
        ))
    }
}
