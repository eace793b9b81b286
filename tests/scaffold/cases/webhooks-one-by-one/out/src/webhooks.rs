//! The webhooks of this program.

mod white_list;

use kubewright::prelude::*;

/// All of them. Their names end with the domain.
pub fn all() -> Webhooks {
    Webhooks::new("example.com")
        .with(white_list::validator())
        .with(white_list::mutator())
}
