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
