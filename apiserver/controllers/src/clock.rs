//! The time of the controllers: wall-clock time that advances with tokio's clock, so that tests can pause it.

use jiff::{SignedDuration, Timestamp};
use kubewright_apimachinery::time::seconds;
use tokio::time::{Duration, Instant};

/// The time at which the controllers were started, on both clocks.
#[derive(Debug)]
pub(super) struct Clock {
    wall: Timestamp,
    start: Instant,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            wall: Timestamp::now(),
            start: Instant::now(),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        let passed = Instant::now().saturating_duration_since(self.start);
        let passed = SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX);
        self.wall.saturating_add(passed).unwrap_or(Timestamp::MAX)
    }

    /// The current time in the format of timestamps in objects.
    pub(super) fn text(&self) -> String {
        seconds(self.now())
    }

    /// The time left until `plus` seconds after an object's timestamp; zero if they have passed.
    pub(super) fn until(&self, since: &str, plus: i64) -> Duration {
        let Ok(since) = since.parse::<Timestamp>() else {
            return Duration::ZERO;
        };
        let due = since.saturating_add(SignedDuration::from_secs(plus));
        let left = due.unwrap_or(Timestamp::MAX).duration_since(self.now());
        Duration::try_from(left).unwrap_or_default()
    }
}
