//! One change in the watch log, with the line that watchers get for it, encoded once for all of them.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;

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
    encoded: Mutex<Vec<(Arc<str>, Bytes)>>,
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
            encoded: Mutex::default(),
        }
    }

    /// Returns the line for watchers that see this change as it is, encoded once for all of them.
    pub fn line(&self) -> Bytes {
        self.line
            .get_or_init(|| line(self.change.as_str(), self.object.json()))
            .clone()
    }

    /// Returns what [`Self::keep_encoded`] kept for watchers that see this change in another form.
    pub fn encoded(&self, form: &str) -> Option<Bytes> {
        let encoded = self.encoded.lock();
        let mut all = encoded.iter();
        all.find(|(known, _)| &**known == form)
            .map(|(_, bytes)| bytes.clone())
    }

    /// Keeps what watchers get that see this change in a form of their own, such as protobuf, for all that ask for the same form.
    pub fn keep_encoded(&self, form: &Arc<str>, bytes: Bytes) {
        let mut encoded = self.encoded.lock();
        // Two watchers may have encoded it at the same time.
        if encoded.iter().all(|(known, _)| known != form) {
            encoded.push((form.clone(), bytes));
        }
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
