//! guard: admission webhooks and controllers for Kubernetes.

pub mod api;
mod controllers;
pub mod webhooks;

use kubewright::prelude::*;

/// Defines the program. Called to run it, to test it and to generate its manifests.
pub fn app(needs: &mut Needs) -> App {
    App::new("guard")
        .version(env!("CARGO_PKG_VERSION"))
        .webhooks(webhooks::all())
        .certificates(SharedAuthority::in_secret("guard-certificates").for_service("guard"))
        .crd::<api::police::v1::Patrol>()
        .controller(controllers::patrol::controller(needs))
        .leader_election("guard")
        .crd::<api::ship::v1::Patrol>()
        .controller(controllers::ship_patrol::controller(needs))
        .crd::<api::ship::v1::Pod>()
}
