//! The backend of a store: where objects are kept when the process ends.

#[cfg(feature = "file")]
mod file;

use std::error::Error;
use std::fmt;

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
/// use kubewright_storage::{Backend, BackendError, Contents, Draft, Limits, Store};
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
///     fn commit(&self, key: &str, value: Option<&[u8]>, revision: u64) -> Result<(), BackendError> {
///         let mut map = self.0.lock().unwrap();
///         map.0 = revision;
///         match value {
///             Some(value) => drop(map.1.insert(key.to_owned(), value.to_owned())),
///             None => drop(map.1.remove(key)),
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

    /// Sets the entry of a key to `value`, or removes it if there is none, together with the revision.
    ///
    /// Both are durable when this returns, and neither is changed if it fails. Commits arrive one at a time, in the order of
    /// their revisions.
    ///
    /// # Errors
    /// The commit is not durable.
    fn commit(&self, key: &str, value: Option<&[u8]>, revision: u64) -> Result<(), BackendError>;
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
#[derive(Debug, thiserror::Error)]
#[error("{doing}")]
pub struct BackendError {
    doing: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    is_in_use: bool,
}

impl BackendError {
    /// Returns an error that says what was being done, such as `opening the database /data/objects`, and its cause.
    pub fn new(doing: impl Into<String>, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            doing: doing.into(),
            source: Some(cause.into()),
            is_in_use: false,
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

    /// Returns the error of an entry that no store has written.
    pub(crate) fn foreign(key: &str) -> Self {
        Self {
            doing: format!("reading the entry {key:?}: it is not an object of a store"),
            source: None,
            is_in_use: false,
        }
    }
}
