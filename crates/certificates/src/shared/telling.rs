//! What a replica tells of its work, and of what keeps it from it.

use std::time::Duration;

use super::happening::{Happening, Status};
use super::secret::{Failure, jittered};
use super::state::Ca;
use super::timing::Timing;
use super::trust::Trust;
use super::work::{LONGEST_NAP, LONGEST_PAUSE, Work};

/// How wrong a clock has to be for somebody to be told.
const WRONG: Duration = Duration::from_mins(1);

impl Work<'_> {
    pub(super) fn tell_trust(&self) {
        let Some(state) = self.replica.state() else {
            return;
        };
        let trust = Some(Trust::of(state, &self.rotation.owner));
        self.rotation.trust.send_if_modified(|known| {
            let is_new = *known != trust;
            *known = trust;
            is_new
        });
        self.tell_status(|_| ());
    }

    fn tell_status(&self, change: impl FnOnce(&mut Status)) {
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

    pub(super) fn tell(&self, happening: &Happening) {
        let secret = &self.rotation.place;
        if happening.is_warning() {
            tracing::warn!(%secret, "{happening}");
        } else {
            tracing::info!(%secret, "{happening}");
        }
        self.tell_status(|_| ());
        (self.rotation.tell)(happening);
    }

    pub(super) fn fails(&mut self, verb: &str, failure: &Failure) -> Duration {
        let what = match failure {
            // Somebody was faster, or else it is not too often that it is tried.
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
        self.tell_status(|status| status.trouble = Some(what.clone()));
        self.tell(&Happening::Trouble { what });
    }

    /// All is well, or as well as with a clock that is wrong; returns when to look again.
    pub(super) fn recovers(&mut self) -> Duration {
        self.failures = 0;
        if let Some(by) = self.rotation.clock.error().filter(|by| *by >= WRONG) {
            // In whole minutes, so that it is not news each time.
            let minutes = by.as_secs() / 60;
            self.meets_trouble(format!(
                "the clock of this machine and that of the API server are {minutes} minutes apart"
            ));
            // Which of the two is wrong is not known: it may have been one of several API servers.
            return LONGEST_NAP;
        }
        if self.rotation.status.borrow().trouble.is_some() {
            self.tell_status(|status| status.trouble = None);
            self.tell(&Happening::Recovered);
        }
        Duration::MAX
    }
}
