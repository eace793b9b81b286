//! Prices.

pub(crate) fn warm_up() {}
