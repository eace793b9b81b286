//! One change in the watch log, with the line that watchers get for it, encoded once for all of them.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::Object;

/// What happened to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Added,
    Modified,
    Deleted,
}

/// One entry of the watch log.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) change: Change,
    /// The object as it is now; its last state with the revision of the deletion if it was deleted.
    pub(crate) object: Arc<Object>,
    /// The object as it was before; none if it was created.
    pub(crate) previous: Option<Arc<Object>>,
    line: OnceLock<Bytes>,
}

impl Change {
    /// The word in a watch event.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

impl Event {
    pub(super) fn new(change: Change, object: Arc<Object>, previous: Option<Arc<Object>>) -> Self {
        Self {
            change,
            object,
            previous,
            line: OnceLock::new(),
        }
    }

    /// The line for watchers that see this change for what it is.
    pub(crate) fn line(&self) -> Bytes {
        self.line
            .get_or_init(|| line(self.change.as_str(), self.object.json()))
            .clone()
    }

    pub(super) fn size(&self) -> usize {
        self.object.size()
    }
}

/// A watch event on one line.
pub(crate) fn line(word: &str, object: &[u8]) -> Bytes {
    let mut line = Vec::with_capacity(object.len() + word.len() + 24);
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(word.as_bytes());
    line.extend_from_slice(b"\",\"object\":");
    line.extend_from_slice(object);
    line.extend_from_slice(b"}\n");
    Bytes::from(line)
}
