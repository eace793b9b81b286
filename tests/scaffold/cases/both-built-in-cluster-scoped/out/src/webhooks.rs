//! The webhooks of the program.

mod namespace;

use kubewright::prelude::*;

/// Returns all webhooks. Their names end with the domain.
pub fn all() -> Webhooks {
    Webhooks::new("example.com")
        .with(namespace::mutator())
        .with(namespace::validator())
}
