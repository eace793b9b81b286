//! The rotation of an authority and of one replica's certificates, as a value that runs.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

use super::clock::Clock;
use super::events::{RotationEvent, Status};
use super::root::Owner;
use super::secret::Place;
use super::timing::Timing;
use super::trust::Trust;
use crate::Identity;
use crate::keys::Keys;

/// Rotates an authority and the certificates of one replica, for as long as it [runs](Self::run).
pub struct Rotation {
    pub(super) place: Place,
    pub(super) owner: Owner,
    pub(super) names: Vec<String>,
    pub(super) timing: Timing,
    pub(super) keys: Keys,
    /// Whether the installer creates the Secret.
    pub(super) is_made_beforehand: bool,
    pub(super) clock: Clock,
    pub(super) identities: watch::Sender<Option<Identity>>,
    pub(super) trust: watch::Sender<Option<Trust>>,
    pub(super) status: watch::Sender<Status>,
    pub(super) on_event: Arc<dyn Fn(&RotationEvent) + Send + Sync>,
}

impl Rotation {
    /// Returns the CAs that clients have to trust, as they change; `None` until the Secret is read or created.
    pub fn trust(&self) -> watch::Receiver<Option<Trust>> {
        self.trust.subscribe()
    }

    /// Returns the status of the rotation in this replica, as it changes.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// Calls a function with each event of the rotation. The function must not block.
    #[must_use]
    pub fn on_event(mut self, on_event: impl Fn(&RotationEvent) + Send + Sync + 'static) -> Self {
        self.on_event = Arc::new(on_event);
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
