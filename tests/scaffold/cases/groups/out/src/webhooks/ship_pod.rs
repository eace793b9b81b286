//! Webhooks for Pods.

use kubewright::prelude::*;

use crate::api::ship::v1::Pod;

/// Declares the webhook: the API server calls it before it creates a Pod.
pub(super) fn mutator() -> Hook {
    mutating("default-ship-pod", complete).on([Create])
}

/// An example of a default: a Pod without a team label belongs to the team `unknown`. The patch is computed from the
/// returned object.
async fn complete(change: Change<Pod>, _: Review) -> Mutated<Pod> {
    let mut object = change.into_object();
    object
        .labels_mut()
        .entry("example.com/team".to_owned())
        .or_insert_with(|| "unknown".to_owned());
    Ok(object)
}
