//! The time of day, under a test's clock too.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The time of day. In a test whose time is paused it advances with tokio's clock.
///
/// ```
/// use std::time::Duration;
/// use jiff::SignedDuration;
/// use kubewright_controller::Clock;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let clock = Clock::new();
/// let before = clock.now();
/// tokio::time::sleep(Duration::from_hours(1)).await; // takes no time
/// assert!(clock.now().duration_since(before) > SignedDuration::from_mins(59));
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    real: std::time::Instant,
    tokio: Instant,
}

impl Clock {
    /// Creates a clock that shows the time of the system, from now on.
    #[must_use]
    pub fn new() -> Self {
        Self {
            real: std::time::Instant::now(),
            tokio: Instant::now(),
        }
    }

    /// Returns the time of day.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        // Outside of such tests both have passed alike, so that this is the system's time, whatever has been set since.
        let real = std::time::Instant::now().duration_since(self.real);
        let passed = Instant::now().duration_since(self.tokio);
        let ahead = SignedDuration::try_from(passed)
            .unwrap_or_default()
            .saturating_sub(SignedDuration::try_from(real).unwrap_or_default());
        let now = Timestamp::now();
        now.checked_add(ahead).unwrap_or(now)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_time_of_day_passes_with_the_time_of_the_test() {
        let clock = Clock::new();
        let before = clock.now();
        tokio::time::sleep(Duration::from_hours(1)).await;
        let passed = clock.now().duration_since(before);
        // The clocks are not read at one and the same instant.
        let off = (passed - SignedDuration::from_hours(1)).abs();
        assert!(off < SignedDuration::from_mins(1), "{passed}");
    }
}
