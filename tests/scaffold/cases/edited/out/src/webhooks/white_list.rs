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
