//! The webhooks of the program.

mod white_list;
pub mod white_list_conversion;

use kubewright::prelude::*;

/// Returns all webhooks. Their names end with the domain.
pub fn all() -> Webhooks {
    Webhooks::new("example.com")
        .with(white_list_conversion::conversion())
        .with(white_list::validator())
}
