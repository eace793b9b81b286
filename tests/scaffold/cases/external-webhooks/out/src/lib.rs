//! guard, a program for Kubernetes.

pub mod api;
pub mod webhooks;

use kubewright::prelude::*;

/// What this program is made of. Called to run it, to test it and to write its manifests.
pub fn app(_needs: &mut Needs) -> App {
    App::new("guard")
        .version(env!("CARGO_PKG_VERSION"))
        .webhooks(webhooks::all())
        .certificates(SharedAuthority::in_secret("guard-certificates").for_service("guard"))
}
