//! The webhooks of the program.

mod white_list;

use kubewright::prelude::*;

/// Returns all webhooks. Their names end with the domain.
pub fn all() -> Webhooks {
    Webhooks::new("example.com")
        .with(white_list::validator())
        .with(white_list::mutator())
}
