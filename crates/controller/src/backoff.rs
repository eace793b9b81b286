//! Pauses that grow with each failure, and differ so that not everybody comes back at once.

use std::time::Duration;

/// How long to wait after a failure: each pause doubles the one before, up to a longest one.
///
/// A pause is shortened at random by up to half, so that what failed together does not come back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
}

impl Backoff {
    /// Makes pauses from a first one to a longest one.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// Returns the pause after this many failures in a row.
    pub fn pause(self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        let pause = self.first.saturating_mul(1 << doublings).min(self.longest);
        pause.mul_f64(1.0 - fastrand::f64() / 2.0)
    }
}

impl Default for Backoff {
    /// From 5 ms to 1000 s, as Kubernetes' own controllers do.
    fn default() -> Self {
        Self::new(Duration::from_millis(5), Duration::from_secs(1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_are_shortened_by_up_to_half() {
        let backoff = Backoff::default();
        for (failures, whole) in [
            (0, 5),
            (1, 5),
            (2, 10),
            (3, 20),
            (18, 655_360),
            (19, 1_000_000),
            (u32::MAX, 1_000_000),
        ] {
            let whole = Duration::from_millis(whole);
            let pauses: Vec<Duration> = (0..100).map(|_| backoff.pause(failures)).collect();
            let within = |pause: &Duration| *pause >= whole / 2 && *pause <= whole;
            assert!(pauses.iter().all(within), "{failures}: {pauses:?}");
            assert!(
                pauses.iter().any(|pause| *pause != pauses[0]),
                "no two differ"
            );
        }
    }
}
