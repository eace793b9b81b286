//! The life of an authority and of one replica's certificates, as a value that runs.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

use super::clock::Clock;
use super::happening::{Happening, Status};
use super::root::Owner;
use super::secret::Place;
use super::timing::Timing;
use super::trust::Trust;
use crate::Identity;
use crate::keys::Keys;

/// The life of an authority and of one replica's certificates, for as long as it [runs](Self::run).
pub struct Rotation {
    pub(super) place: Place,
    pub(super) owner: Owner,
    pub(super) names: Vec<String>,
    pub(super) timing: Timing,
    pub(super) keys: Keys,
    /// Whether the Secret is for the installer to create.
    pub(super) is_made_beforehand: bool,
    pub(super) clock: Clock,
    pub(super) identities: watch::Sender<Option<Identity>>,
    pub(super) trust: watch::Sender<Option<Trust>>,
    pub(super) status: watch::Sender<Status>,
    pub(super) tell: Arc<dyn Fn(&Happening) + Send + Sync>,
}

impl Rotation {
    /// What clients must trust, as it changes; `None` until the Secret was read or made.
    pub fn trust(&self) -> watch::Receiver<Option<Trust>> {
        self.trust.subscribe()
    }

    /// Where this replica is in the life of its certificates, as it changes.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// Also tells of what happens, as it happens. It is told in the midst of the work: it must not block.
    #[must_use]
    pub fn telling(mut self, tell: impl Fn(&Happening) + Send + Sync + 'static) -> Self {
        self.tell = Arc::new(tell);
        self
    }
}

impl fmt::Debug for Rotation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Rotation")
            .field("secret", &self.place)
            .field("names", &self.names)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}
