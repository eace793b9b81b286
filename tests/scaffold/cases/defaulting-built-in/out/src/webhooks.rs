//! The webhooks of this program.

mod deployment;

use kubewright::prelude::*;

/// All of them. Their names end with the domain.
pub fn all() -> Webhooks {
    Webhooks::new("example.com").with(deployment::mutator())
}
