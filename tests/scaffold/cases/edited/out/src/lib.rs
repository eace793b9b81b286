//! The guard of our clusters.

pub mod api;
mod controllers;
// Prices are looked up by everything else.
mod prices; // see prices.md
pub mod webhooks;

use kubewright::prelude::*;

/// What this program is made of.
pub fn app(needs: &mut Needs) -> App {
    let name = "guard"; // also the name of the Lease
    let app = App::new(name)
        .version(env!("CARGO_PKG_VERSION"))
        // Visitors come in the evening: two replicas by then.
        .webhooks(webhooks::all())
        .publish_ca()
        .crd::<api::police::v1beta1::WhiteList>()
        .controller(controllers::white_list::controller(needs))
        .leader_election("guard");
    prices::warm_up();
    app
}
