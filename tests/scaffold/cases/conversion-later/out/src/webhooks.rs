//! The webhooks of this program.

mod white_list;
pub mod white_list_conversion;

use kubewright::prelude::*;

/// All of them. Their names end with the domain.
pub fn all() -> Webhooks {
    Webhooks::new("example.com")
        .with(white_list_conversion::conversion())
        .with(white_list::validator())
}
