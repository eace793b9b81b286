//! The webhooks of this program.

mod ticket;

use kubewright::prelude::*;

/// All of them. Their names end with the domain.
pub fn all() -> Webhooks {
    Webhooks::new("example.com")
        .with(ticket::mutator())
        .with(ticket::validator())
}
