//! What Harbors are to be like.

use kubewright::prelude::*;

use crate::api::ship::v1alpha1::Harbor;

/// Called before a Harbor is created or changed.
pub(super) fn validator() -> Hook {
    validating("validate-harbor", validate)
}

/// An example of a rule: a team that is named has a name. What is not denied in words is allowed.
async fn validate(change: Change<Harbor>, _: Review) -> Validated {
    let team = change.object().labels().get("example.com/team");
    if team.is_some_and(String::is_empty) {
        return deny("the label `example.com/team` has to name a team");
    }
    Ok(())
}
