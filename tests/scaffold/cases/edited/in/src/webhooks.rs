//! Our webhooks.

mod pod;

use kubewright::prelude::*;

/// All of them.
pub fn all() -> Webhooks {
    // The domain is that of the mother company.
    Webhooks::new("example.com").with(pod::validator())
}
