//! The kinds that one server serves now: the built-in ones, and whatever was added while it runs.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwapOption;

use super::Registry;

/// The registry of one server. It is never changed, only replaced by another one.
pub(crate) struct Served {
    builtin: &'static LazyLock<Registry>,
    /// The built-in kinds and the added ones; none while nothing is added.
    extended: ArcSwapOption<Registry>,
}

/// The registry as it was when somebody asked. The built-in one is made when it is looked at: what a server is asked first
/// often names no kind.
#[derive(Clone, Debug)]
pub(crate) enum Snapshot {
    Builtin(&'static LazyLock<Registry>),
    Extended(Arc<Registry>),
}

impl Served {
    pub(crate) fn new(builtin: &'static LazyLock<Registry>) -> Self {
        Self {
            builtin,
            extended: ArcSwapOption::empty(),
        }
    }

    /// What is served now.
    pub(crate) fn now(&self) -> Snapshot {
        match self.extended.load_full() {
            Some(registry) => Snapshot::Extended(registry),
            None => Snapshot::Builtin(self.builtin),
        }
    }

    /// Serves from now on what `change` makes of the built-in kinds.
    pub(crate) fn extend(&self, change: impl FnOnce(&Registry) -> Registry) {
        let extended = change(self.builtin);
        self.extended.store(Some(Arc::new(extended)));
    }
}

impl Deref for Snapshot {
    type Target = Registry;

    fn deref(&self) -> &Registry {
        match self {
            Self::Builtin(registry) => registry,
            Self::Extended(registry) => registry,
        }
    }
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served").finish_non_exhaustive()
    }
}
