//! Webhooks for Patrols.

use kubewright::prelude::*;

use crate::api::ship::v1::Patrol;

/// Declares the webhook: the API server calls it before it creates or updates a Patrol.
pub(super) fn validator() -> Hook {
    validating("validate-ship-patrol", validate)
}

/// An example of a rule: the team label must not be empty.
async fn validate(change: Change<Patrol>, _: Review) -> Validated {
    let team = change.object().labels().get("example.com/team");
    if team.is_some_and(String::is_empty) {
        return deny("the label `example.com/team` must not be empty");
    }
    Ok(())
}
