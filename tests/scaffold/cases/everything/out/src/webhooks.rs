//! The webhooks of the program.

mod harbor;
mod namespace;
mod pod;
mod white_list;
pub mod white_list_conversion;

use kubewright::prelude::*;

/// Returns all webhooks. Their names end with the domain.
pub fn all() -> Webhooks {
    Webhooks::new("example.com")
        .with(white_list::mutator())
        .with(white_list::validator())
        .with(white_list_conversion::conversion())
        .with(harbor::validator())
        .with(pod::mutator())
        .with(pod::validator())
        .with(namespace::mutator())
        .with(namespace::validator())
        .with(crate::policies::team_labels::policy())
}
