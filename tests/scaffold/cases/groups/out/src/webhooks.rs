//! The webhooks of the program.

mod pod;
mod ship_patrol;
mod ship_pod;

use kubewright::prelude::*;

/// Returns all webhooks. Their names end with the domain.
pub fn all() -> Webhooks {
    Webhooks::new("example.com")
        .with(pod::validator())
        .with(ship_patrol::validator())
        .with(ship_pod::mutator())
        .with(pod::mutator())
}
