//! The webhooks of the program.

mod deployment;

use kubewright::prelude::*;

/// Returns all webhooks. Their names end with the domain.
pub fn all() -> Webhooks {
    Webhooks::new("example.com").with(deployment::mutator())
}
