//! One change in the watch log, with the line that watchers get for it, encoded once for all of them.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::object::Object;

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words are Kubernetes' own")]
#[expect(
    clippy::exhaustive_enums,
    reason = "nothing else can happen to an object"
)]
pub enum Change {
    Added,
    Modified,
    Deleted,
}

/// One entry of the watch log.
#[derive(Debug)]
#[non_exhaustive]
pub struct Event {
    /// The kind of the change.
    pub change: Change,
    /// The object as it is now; its last state with the revision of the deletion if it was deleted.
    pub object: Arc<Object>,
    /// The object as it was before; none if it was created.
    pub previous: Option<Arc<Object>>,
    line: OnceLock<Bytes>,
}

impl Change {
    /// Returns the type of a watch event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

impl Event {
    pub(crate) fn new(change: Change, object: Arc<Object>, previous: Option<Arc<Object>>) -> Self {
        Self {
            change,
            object,
            previous,
            line: OnceLock::new(),
        }
    }

    /// Returns the line for watchers that see this change as it is, encoded once for all of them.
    pub fn line(&self) -> Bytes {
        self.line
            .get_or_init(|| line(self.change.as_str(), self.object.json()))
            .clone()
    }

    pub(crate) fn size(&self) -> usize {
        self.object.size()
    }
}

/// Returns a watch event of type `word` on one line, with the object as JSON text.
pub fn line(word: &str, object: &[u8]) -> Bytes {
    let mut line = Vec::with_capacity(object.len() + word.len() + 24);
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(word.as_bytes());
    line.extend_from_slice(b"\",\"object\":");
    line.extend_from_slice(object);
    line.extend_from_slice(b"}\n");
    Bytes::from(line)
}
