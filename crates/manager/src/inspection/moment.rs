//! The time at which a page is made.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// The time at which the page is made, to which its times refer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment(pub(super) Timestamp);

impl Moment {
    /// The time of day so long ago.
    pub(super) fn ago(&self, passed: Duration) -> String {
        let passed = SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX);
        self.0
            .checked_sub(passed)
            .unwrap_or(Timestamp::MIN)
            .to_string()
    }

    /// The time of day in so long.
    pub(super) fn later(&self, left: Duration) -> String {
        let left = SignedDuration::try_from(left).unwrap_or(SignedDuration::MAX);
        self.0
            .checked_add(left)
            .unwrap_or(Timestamp::MAX)
            .to_string()
    }
}
