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
