//! What has become of an object.

use std::sync::Arc;

use super::entry::Entry;

/// What has become of an object: it is new, changed or gone.
#[derive(Clone, Debug)]
pub(crate) struct Delta {
    pub(crate) old: Option<Arc<Entry>>,
    pub(crate) new: Option<Arc<Entry>>,
    pub(crate) origin: Origin,
}

/// How a change became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// From a list: nobody waits for it more than for the others.
    Snapshot,
    /// From a watch: somebody has just done it.
    Watch,
}
