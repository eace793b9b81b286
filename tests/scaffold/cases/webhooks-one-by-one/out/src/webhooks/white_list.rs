//! Webhooks for WhiteLists.

use kubewright::prelude::*;

use crate::api::police::v1beta1::WhiteList;

/// Declares the webhook: the API server calls it before it creates or updates a WhiteList.
pub(super) fn validator() -> Hook {
    validating("validate-white-list", validate)
}

/// An example of a rule: the team label must not be empty.
async fn validate(change: Change<WhiteList>, _: Review) -> Validated {
    let team = change.object().labels().get("example.com/team");
    if team.is_some_and(String::is_empty) {
        return deny("the label `example.com/team` must not be empty");
    }
    Ok(())
}

/// Declares the webhook: the API server calls it before it creates a WhiteList.
pub(super) fn mutator() -> Hook {
    mutating("default-white-list", complete).on([Create])
}

/// An example of a default: a WhiteList without a team label belongs to the team `unknown`. The patch is computed from the
/// returned object.
async fn complete(change: Change<WhiteList>, _: Review) -> Mutated<WhiteList> {
    let mut object = change.into_object();
    object
        .labels_mut()
        .entry("example.com/team".to_owned())
        .or_insert_with(|| "unknown".to_owned());
    Ok(object)
}
