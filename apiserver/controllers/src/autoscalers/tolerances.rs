//! How far usage may be from its target without a change.

/// The tolerances of both directions, as fractions of the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tolerances {
    pub(super) up: f64,
    pub(super) down: f64,
}

impl Default for Tolerances {
    /// Those of an autoscaler that sets none (`--horizontal-pod-autoscaler-tolerance`).
    fn default() -> Self {
        Self { up: 0.1, down: 0.1 }
    }
}

impl Tolerances {
    /// Whether the ratio of usage to target is near enough to one.
    pub(super) fn allow(self, ratio: f64) -> bool {
        1.0 - self.down <= ratio && ratio <= 1.0 + self.up
    }
}
