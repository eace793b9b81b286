//! Webhooks for Deployments.

use k8s_openapi::api::apps::v1::Deployment;
use kubewright::prelude::*;

/// Declares the webhook: the API server calls it before it creates a Deployment.
pub(super) fn mutator() -> Hook {
    mutating("default-deployment", complete).on([Create])
}

/// An example of a default: a Deployment without a team label belongs to the team `unknown`. The patch is computed from the
/// returned object.
async fn complete(change: Change<Deployment>, _: Review) -> Mutated<Deployment> {
    let mut object = change.into_object();
    object
        .labels_mut()
        .entry("example.com/team".to_owned())
        .or_insert_with(|| "unknown".to_owned());
    Ok(object)
}
