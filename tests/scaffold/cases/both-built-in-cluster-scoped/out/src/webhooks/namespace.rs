//! What Namespaces are to be like.

use k8s_openapi::api::core::v1::Namespace;
use kubewright::prelude::*;

/// Called before a Namespace is created.
pub(super) fn mutator() -> Hook {
    mutating("default-namespace", complete).on([Create])
}

/// An example of a default: what names no team is of an unknown one. The patch is made of what is returned.
async fn complete(change: Change<Namespace>, _: Review) -> Mutated<Namespace> {
    let mut object = change.into_object();
    object
        .labels_mut()
        .entry("example.com/team".to_owned())
        .or_insert_with(|| "unknown".to_owned());
    Ok(object)
}

/// Called before a Namespace is created or changed.
pub(super) fn validator() -> Hook {
    validating("validate-namespace", validate)
}

/// An example of a rule: a team that is named has a name. What is not denied in words is allowed.
async fn validate(change: Change<Namespace>, _: Review) -> Validated {
    let team = change.object().labels().get("example.com/team");
    if team.is_some_and(String::is_empty) {
        return deny("the label `example.com/team` has to name a team");
    }
    Ok(())
}
