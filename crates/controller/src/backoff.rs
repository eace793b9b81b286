//! Exponential back-off with jitter, so that objects that failed together are not retried together.

use std::time::Duration;

/// Exponential back-off after failures: each delay is twice the previous one, up to a maximum.
///
/// Jitter shortens each delay by up to half, so that objects that failed together are not retried together.
///
/// ```
/// use std::time::Duration;
/// use kubewright_controller::Backoff;
///
/// let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
/// assert!(backoff.pause(1) <= Duration::from_millis(100));
/// assert!(backoff.pause(3) > Duration::from_millis(199));
/// assert!(backoff.pause(1000) <= Duration::from_secs(5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
}

impl Backoff {
    /// Creates a back-off with a first and a longest pause.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_controller::Backoff;
    ///
    /// let kubernetes = Backoff::new(Duration::from_millis(5), Duration::from_secs(1000));
    /// assert_eq!(kubernetes, Backoff::default());
    /// ```
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// Returns the pause after this number of failures in a row, shortened at random by up to half.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_controller::Backoff;
    ///
    /// let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
    /// let (shortest, longest) = (Duration::from_millis(1999), Duration::from_secs(4));
    /// assert!((shortest..=longest).contains(&backoff.pause(3)));
    /// ```
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
