//! Reports the events, status and errors of a replica's rotation.

use std::time::Duration;

use super::events::{RotationEvent, Status};
use super::secret::{Failure, jittered};
use super::state::Ca;
use super::timing::Timing;
use super::trust::Trust;
use super::work::{LONGEST_NAP, LONGEST_PAUSE, Work};

/// The clock skew from which on a warning is reported.
const WRONG: Duration = Duration::from_mins(1);

impl Work<'_> {
    pub(super) fn update_trust(&self) {
        let Some(state) = self.replica.state() else {
            return;
        };
        let trust = Some(Trust::of(state, &self.rotation.owner));
        self.rotation.trust.send_if_modified(|known| {
            let is_new = *known != trust;
            *known = trust;
            is_new
        });
        self.update_status(|_| ());
    }

    fn update_status(&self, change: impl FnOnce(&mut Status)) {
        self.rotation.status.send_if_modified(|status| {
            let before = status.clone();
            if let Some(state) = self.replica.state() {
                status.phase = Some(state.phase());
                status.generation = state.generation;
                status.authority_expires = Some(state.current.expires());
            }
            status.certificate_expires = self.replica.leaf().map(|leaf| leaf.not_after);
            change(status);
            *status != before
        });
    }

    pub(super) fn emit(&self, event: &RotationEvent) {
        let secret = &self.rotation.place;
        if event.is_warning() {
            tracing::warn!(%secret, "{event}");
        } else {
            tracing::info!(%secret, "{event}");
        }
        self.update_status(|_| ());
        (self.rotation.on_event)(event);
    }

    pub(super) fn fails(&mut self, verb: &str, failure: &Failure) -> Duration {
        let what = match failure {
            // Another replica was faster.
            Failure::Conflict => return Timing::moment_within(self.rotation.timing.spread),
            failure => format!("cannot {verb} the Secret: {failure}"),
        };
        self.meets_trouble(what);
        self.backs_off()
    }

    pub(super) fn backs_off(&mut self) -> Duration {
        let pause = Duration::from_millis(500) * 2_u32.saturating_pow(self.failures.min(8));
        self.failures = self.failures.saturating_add(1);
        jittered(pause.min(LONGEST_PAUSE))
    }

    pub(super) fn meets_trouble(&self, what: String) {
        let is_known = self.rotation.status.borrow().trouble.as_ref() == Some(&what);
        if is_known {
            tracing::debug!(secret = %self.rotation.place, "{what}");
            return;
        }
        self.update_status(|status| status.trouble = Some(what.clone()));
        self.emit(&RotationEvent::Trouble { what });
    }

    /// Ends the error, unless the clock is wrong; returns when to look again.
    pub(super) fn recovers(&mut self) -> Duration {
        self.failures = 0;
        if let Some(by) = self.rotation.clock.error().filter(|by| *by >= WRONG) {
            // In whole minutes, so that the same skew is reported once.
            let minutes = by.as_secs() / 60;
            self.meets_trouble(format!(
                "the clock of this machine and that of the API server are {minutes} minutes apart"
            ));
            // Which of the two is wrong is not known: it may have been one of several API servers.
            return LONGEST_NAP;
        }
        if self.rotation.status.borrow().trouble.is_some() {
            self.update_status(|status| status.trouble = None);
            self.emit(&RotationEvent::Recovered);
        }
        Duration::MAX
    }
}
