//! What Patrols are to be like.

use kubewright::prelude::*;

use crate::api::ship::v1::Patrol;

/// Called before a Patrol is created or changed.
pub(super) fn validator() -> Hook {
    validating("validate-ship-patrol", validate)
}

/// An example of a rule: a team that is named has a name. What is not denied in words is allowed.
async fn validate(change: Change<Patrol>, _: Review) -> Validated {
    let team = change.object().labels().get("example.com/team");
    if team.is_some_and(String::is_empty) {
        return deny("the label `example.com/team` has to name a team");
    }
    Ok(())
}
