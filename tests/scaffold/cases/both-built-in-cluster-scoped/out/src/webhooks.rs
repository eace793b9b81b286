//! The webhooks of this program.

mod namespace;

use kubewright::prelude::*;

/// All of them. Their names end with the domain.
pub fn all() -> Webhooks {
    Webhooks::new("example.com")
        .with(namespace::mutator())
        .with(namespace::validator())
}
