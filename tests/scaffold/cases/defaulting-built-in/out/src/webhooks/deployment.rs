//! What Deployments are to be like.

use k8s_openapi::api::apps::v1::Deployment;
use kubewright::prelude::*;

/// Called before a Deployment is created.
pub(super) fn mutator() -> Hook {
    mutating("default-deployment", complete).on([Create])
}

/// An example of a default: what names no team is of an unknown one. The patch is made of what is returned.
async fn complete(change: Change<Deployment>, _: Review) -> Mutated<Deployment> {
    let mut object = change.into_object();
    object
        .labels_mut()
        .entry("example.com/team".to_owned())
        .or_insert_with(|| "unknown".to_owned());
    Ok(object)
}
