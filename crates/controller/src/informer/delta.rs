//! A change of an object in a cache.

use std::sync::Arc;

use super::entry::Entry;

/// A change of an object: it was added, updated or deleted.
#[derive(Clone, Debug)]
pub(crate) struct Delta {
    pub(crate) old: Option<Arc<Entry>>,
    pub(crate) new: Option<Arc<Entry>>,
    pub(crate) origin: Origin,
}

/// How a change became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// From a list: no object is more urgent than the others.
    Snapshot,
    /// From a watch: the change has just been made.
    Watch,
}
