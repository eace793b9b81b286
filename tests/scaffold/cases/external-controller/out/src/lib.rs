//! guard: admission webhooks and controllers for Kubernetes.

pub mod api;
mod controllers;

use kubewright::prelude::*;

/// Defines the program. Called to run it, to test it and to generate its manifests.
pub fn app(needs: &mut Needs) -> App {
    App::new("guard")
        .version(env!("CARGO_PKG_VERSION"))
        .controller(controllers::ticket::controller(needs))
        .leader_election("guard")
}
