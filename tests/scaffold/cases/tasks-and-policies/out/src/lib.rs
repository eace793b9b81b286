//! guard: admission webhooks and controllers for Kubernetes.

pub mod api;
pub mod policies;
pub mod tasks;
pub mod webhooks;

use kubewright::prelude::*;

/// Defines the program. Called to run it, to test it and to generate its manifests.
pub fn app(needs: &mut Needs) -> App {
    App::new("guard")
        .version(env!("CARGO_PKG_VERSION"))
        .webhooks(webhooks::all())
        .task(tasks::warm_up::task(needs))
        .task(tasks::cleanup::task(needs))
        .leader_election("guard")
        .task(tasks::nightly::task(needs))
        .crd::<api::police::v1::WhiteList>()
        .certificates(SharedAuthority::in_secret("guard-certificates").for_service("guard"))
}
