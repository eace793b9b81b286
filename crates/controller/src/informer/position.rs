//! How far a watch is, for those who look inside a program.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// How far a watch is. The one that follows it writes it with each event, without a lock.
pub(super) struct Position {
    start: Instant,
    /// In milliseconds since the start, plus one; 0: there was no event.
    heard: AtomicU64,
    /// 0: not known.
    version: AtomicU64,
}

impl Position {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            heard: AtomicU64::new(0),
            version: AtomicU64::new(0),
        }
    }

    /// Notes an event, or a list, of this version.
    pub(super) fn reaches(&self, version: &str) {
        let passed = self.start.elapsed().as_millis();
        let passed = u64::try_from(passed).unwrap_or(u64::MAX - 1);
        self.heard.store(passed + 1, Ordering::Relaxed);
        self.version
            .store(version.parse().unwrap_or_default(), Ordering::Relaxed);
    }

    /// There are no objects any more whose version could be known.
    pub(super) fn is_lost(&self) {
        self.version.store(0, Ordering::Relaxed);
    }

    pub(super) fn last_event(&self) -> Option<Duration> {
        let heard = self.heard.load(Ordering::Relaxed).checked_sub(1)?;
        let heard = Duration::from_millis(heard);
        Some(self.start.elapsed().saturating_sub(heard))
    }

    pub(super) fn version(&self) -> Option<u64> {
        Some(self.version.load(Ordering::Relaxed)).filter(|version| *version > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_position_has_the_time_of_the_last_event_and_its_version_if_that_is_a_number() {
        let position = Position::new();
        assert_eq!((position.last_event(), position.version()), (None, None));
        position.reaches("17");
        tokio::time::advance(Duration::from_secs(3)).await;
        let seen = (position.last_event(), position.version());
        assert_eq!(seen, (Some(Duration::from_secs(3)), Some(17)));
        position.reaches("not a number");
        let seen = (position.last_event(), position.version());
        assert_eq!(seen, (Some(Duration::ZERO), None));
    }
}
