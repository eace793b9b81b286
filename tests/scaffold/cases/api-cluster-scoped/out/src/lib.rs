//! guard, a program for Kubernetes.

pub mod api;

use kubewright::prelude::*;

/// What this program is made of. Called to run it, to test it and to write its manifests.
pub fn app(_needs: &mut Needs) -> App {
    App::new("guard")
        .version(env!("CARGO_PKG_VERSION"))
        .crd::<api::police::v1::Harbor>()
}
