//! The webhooks of the program.

mod pod;

use kubewright::prelude::*;

/// Returns all webhooks. Their names end with the domain.
pub fn all() -> Webhooks {
    Webhooks::new("example.com")
        .with(crate::policies::team_labels::policy())
        .with(crate::policies::white_lists::policy())
        .with(crate::policies::tickets::policy())
        .with(pod::validator())
}
