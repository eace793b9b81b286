//! guard: admission webhooks and controllers for Kubernetes.

pub mod api;
mod controllers;

use kubewright::prelude::*;

/// Defines the program. Called to run it, to test it and to generate its manifests.
pub fn app(needs: &mut Needs) -> App {
    App::new("guard")
        .version(env!("CARGO_PKG_VERSION"))
        .crd::<api::police::v1::WhiteList>()
        .controller(controllers::white_list::controller(needs))
        .leader_election("guard")
        .controller(controllers::cleaner::controller(needs))
        .crd::<api::police::v1::Patrol>()
        .controller(controllers::white_list_patrols::controller(needs))
        .controller(controllers::servers::controller(needs))
        .crd::<api::ship::v1::Cluster>()
        .controller(controllers::fleet::controller(needs))
        .controller(controllers::cluster_config_maps::controller(needs))
        .controller(controllers::deployment_patrols::controller(needs))
}
