//! The guard of our clusters.

// Prices are looked up by everything else.
mod prices; // see prices.md
pub mod webhooks;

use kubewright::prelude::*;

/// What this program is made of.
pub fn app(_: &mut Needs) -> App {
    let name = "guard"; // also the name of the Lease
    let app = App::new(name)
        .version(env!("CARGO_PKG_VERSION"))
        // Visitors come in the evening: two replicas by then.
        .webhooks(webhooks::all())
        .publish_ca();
    prices::warm_up();
    app
}
