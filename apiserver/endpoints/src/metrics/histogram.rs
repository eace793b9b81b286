//! Distributions that are counted without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many observations are at most as large as each of some bounds, and their sum.
#[derive(Debug)]
pub(super) struct Histogram {
    bounds: &'static [f64],
    /// One for each bound, and one for what is beyond the last.
    counts: Box<[AtomicU64]>,
    /// In units of `1 / scale`, so that it is a whole number.
    sum: AtomicU64,
    scale: f64,
}

impl Histogram {
    /// A distribution of seconds, which are summed up as nanoseconds.
    pub(super) fn of_seconds(bounds: &'static [f64]) -> Self {
        Self::new(bounds, 1e9)
    }

    /// A distribution of bytes.
    pub(super) fn of_bytes(bounds: &'static [f64]) -> Self {
        Self::new(bounds, 1.0)
    }

    fn new(bounds: &'static [f64], scale: f64) -> Self {
        Self {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
            scale,
        }
    }

    pub(super) fn observe(&self, value: f64) {
        let at = self.bounds.partition_point(|bound| *bound < value);
        self.counts[at].fetch_add(1, Ordering::Relaxed);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "times and sizes are not negative, and far from the largest number"
        )]
        let units = (value * self.scale) as u64;
        self.sum.fetch_add(units, Ordering::Relaxed);
    }

    /// The bounds with the number of observations up to each, then the number of all.
    pub(super) fn buckets(&self) -> (Vec<(f64, u64)>, u64) {
        let mut so_far = 0;
        let mut buckets = Vec::with_capacity(self.bounds.len());
        for (bound, count) in self.bounds.iter().zip(&*self.counts) {
            so_far += count.load(Ordering::Relaxed);
            buckets.push((*bound, so_far));
        }
        let beyond = self.counts[self.bounds.len()].load(Ordering::Relaxed);
        (buckets, so_far + beyond)
    }

    pub(super) fn sum(&self) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a sum is read for its first digits"
        )]
        let units = self.sum.load(Ordering::Relaxed) as f64;
        units / self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observation_counts_up_to_its_bound_and_beyond() {
        let histogram = Histogram::of_seconds(&[0.1, 1.0]);
        for seconds in [0.05, 0.1, 0.5, 3.0] {
            histogram.observe(seconds);
        }
        assert_eq!(histogram.buckets(), (vec![(0.1, 2), (1.0, 3)], 4));
        assert!((histogram.sum() - 3.65).abs() < 1e-6);
    }
}
