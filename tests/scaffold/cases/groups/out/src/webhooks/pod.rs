//! What Pods are to be like.

use k8s_openapi::api::core::v1::Pod;
use kubewright::prelude::*;

/// Called before a Pod is created or changed.
pub(super) fn validator() -> Hook {
    validating("validate-pod", validate)
}

/// An example of a rule: a team that is named has a name. What is not denied in words is allowed.
async fn validate(change: Change<Pod>, _: Review) -> Validated {
    let team = change.object().labels().get("example.com/team");
    if team.is_some_and(String::is_empty) {
        return deny("the label `example.com/team` has to name a team");
    }
    Ok(())
}

/// Called before a Pod is created.
pub(super) fn mutator() -> Hook {
    mutating("default-pod", complete).on([Create])
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
