//! The program's own metrics.

use kubewright::metrics::{Counter, MetricFamily};
use kubewright::prelude::*;

pub(crate) struct Meters {
    pub(crate) backups: MetricFamily<Counter, 1>,
    pub(crate) rotations: Counter,
    pub(crate) upgrades: Counter,
}

impl Meters {
    pub(crate) fn new(needs: &mut Needs) -> Self {
        let metrics = needs.metrics();
        Self {
            backups: metrics.register_family(
                "valkey_backups",
                "Number of backups that have ended, by outcome",
                ["outcome"],
                Counter::default,
            ),
            rotations: metrics.register(
                "valkey_password_rotations",
                "Number of passwords that were replaced",
                Counter::default(),
            ),
            upgrades: metrics.register(
                "valkey_upgrades",
                "Number of upgrades that every instance has made",
                Counter::default(),
            ),
        }
    }
}
