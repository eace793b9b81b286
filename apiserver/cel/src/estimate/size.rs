//! Ranges of sizes and costs: the arithmetic of cel-go's estimates.

/// A minimum and a maximum: of elements, code points, or cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Range {
    pub(super) const UNKNOWN: Self = Self {
        least: 0,
        most: u64::MAX,
    };
    pub(super) const NOTHING: Self = Self::exactly(0);

    pub(super) const fn exactly(amount: u64) -> Self {
        Self {
            least: amount,
            most: amount,
        }
    }

    pub(super) const fn up_to(most: u64) -> Self {
        Self { least: 0, most }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_add(other.least),
            most: self.most.saturating_add(other.most),
        }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_mul(other.least),
            most: self.most.saturating_mul(other.most),
        }
    }

    /// Each unit costs this much; rounded up.
    pub(super) fn at(self, each: f64) -> Self {
        Self {
            least: scaled(self.least, each),
            most: scaled(self.most, each),
        }
    }

    /// Both ranges and what lies between them.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "estimates are rounded as cel-go rounds them; a conversion ends at the largest number"
)]
fn scaled(amount: u64, each: f64) -> u64 {
    (amount as f64 * each).ceil() as u64
}

/// The larger number divided by the smaller one, rounded up.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "as cel-go rounds"
)]
pub(super) fn quotient(amount: u64, by: u64) -> u64 {
    (amount as f64 / by as f64).ceil() as u64
}
