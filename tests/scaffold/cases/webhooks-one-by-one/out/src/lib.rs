//! guard: admission webhooks and controllers for Kubernetes.

pub mod api;
pub mod webhooks;

use kubewright::prelude::*;

/// Defines the program. Called to run it, to test it and to generate its manifests.
pub fn app(_needs: &mut Needs) -> App {
    App::new("guard")
        .version(env!("CARGO_PKG_VERSION"))
        .crd::<api::police::v1beta1::WhiteList>()
        .webhooks(webhooks::all())
        .certificates(SharedAuthority::in_secret("guard-certificates").for_service("guard"))
}
