//! The webhooks of this program.

mod ship_patrol;

use kubewright::prelude::*;

/// All of them. Their names end with the domain.
pub fn all() -> Webhooks {
    Webhooks::new("example.com").with(ship_patrol::validator())
}
