//! guard: admission webhooks and controllers for Kubernetes.

pub mod api;
mod controllers;
pub mod policies;
pub mod webhooks;

use kubewright::prelude::*;

/// Defines the program. Called to run it, to test it and to generate its manifests.
pub fn app(needs: &mut Needs) -> App {
    App::new("guard")
        .version(env!("CARGO_PKG_VERSION"))
        .crd::<api::police::v1beta1::WhiteList>()
        .controller(controllers::white_list::controller(needs))
        .leader_election("guard")
        .webhooks(webhooks::all())
        .certificates(SharedAuthority::in_secret("guard-certificates").for_service("guard"))
        .crd::<api::ship::v1alpha1::Harbor>()
        .controller(controllers::harbor::controller(needs))
        .controller(controllers::deployment::controller(needs))
        .controller(controllers::config_map::controller(needs))
}
