//! The kinds that one server serves now: the built-in ones, and those that were added while it runs.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwapOption;

use crate::registry::Registry;

/// The registry of one server. It is never changed, only replaced by another one.
pub struct Served {
    builtin: &'static LazyLock<Registry>,
    /// The built-in kinds and the added ones; none while nothing is added.
    extended: ArcSwapOption<Registry>,
}

/// The registry of a server at one time. The built-in one is made when it is looked at: the first requests to a server
/// often name no kind.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "the two registries of a server")]
pub enum Snapshot {
    /// The built-in kinds alone.
    Builtin(&'static LazyLock<Registry>),
    /// The built-in kinds and others.
    Extended(Arc<Registry>),
}

impl Served {
    /// Serves the built-in kinds.
    pub fn new(builtin: &'static LazyLock<Registry>) -> Self {
        Self {
            builtin,
            extended: ArcSwapOption::empty(),
        }
    }

    /// Returns the registry that is served now.
    pub fn now(&self) -> Snapshot {
        match self.extended.load_full() {
            Some(registry) => Snapshot::Extended(registry),
            None => Snapshot::Builtin(self.builtin),
        }
    }

    /// Serves the registry that `change` makes of the built-in one from now on.
    pub fn extend(&self, change: impl FnOnce(&Registry) -> Registry) {
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
