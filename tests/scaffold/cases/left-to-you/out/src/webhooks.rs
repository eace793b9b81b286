//! The webhooks of this program.

mod pod;

use kubewright::prelude::*;

/// All of them. Their names end with the domain.
pub fn all() -> Webhooks {
    Webhooks::new("example.com").with(pod::validator())
}
