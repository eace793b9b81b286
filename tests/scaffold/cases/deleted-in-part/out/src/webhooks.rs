//! The webhooks of the program.

mod ship_patrol;

use kubewright::prelude::*;

/// Returns all webhooks. Their names end with the domain.
pub fn all() -> Webhooks {
    Webhooks::new("example.com").with(ship_patrol::validator())
}
