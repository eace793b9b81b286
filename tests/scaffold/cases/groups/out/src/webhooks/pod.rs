//! Webhooks for Pods.

use k8s_openapi::api::core::v1::Pod;
use kubewright::prelude::*;

/// Declares the webhook: the API server calls it before it creates or updates a Pod.
pub(super) fn validator() -> Hook {
    validating("validate-pod", validate)
}

/// An example of a rule: the team label must not be empty.
async fn validate(change: Change<Pod>, _: Review) -> Validated {
    let team = change.object().labels().get("example.com/team");
    if team.is_some_and(String::is_empty) {
        return deny("the label `example.com/team` must not be empty");
    }
    Ok(())
}

/// Declares the webhook: the API server calls it before it creates a Pod.
pub(super) fn mutator() -> Hook {
    mutating("default-pod", complete).on([Create])
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
