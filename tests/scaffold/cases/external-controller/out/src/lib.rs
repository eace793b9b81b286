//! guard, a program for Kubernetes.

pub mod api;
mod controllers;

use kubewright::prelude::*;

/// What this program is made of. Called to run it, to test it and to write its manifests.
pub fn app(needs: &mut Needs) -> App {
    App::new("guard")
        .version(env!("CARGO_PKG_VERSION"))
        .controller(controllers::ticket::controller(needs))
        .leader_elected("guard")
}
