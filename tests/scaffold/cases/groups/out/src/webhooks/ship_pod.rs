//! What Pods are to be like.

use kubewright::prelude::*;

use crate::api::ship::v1::Pod;

/// Called before a Pod is created.
pub(super) fn mutator() -> Hook {
    mutating("default-ship-pod", complete).on([Create])
}

/// An example of a default: what names no team is of an unknown one. The patch is made of what is returned.
async fn complete(change: Change<Pod>, _: Review) -> Mutated<Pod> {
    let mut object = change.into_object();
    object
        .labels_mut()
        .entry("example.com/team".to_owned())
        .or_insert_with(|| "unknown".to_owned());
    Ok(object)
}
