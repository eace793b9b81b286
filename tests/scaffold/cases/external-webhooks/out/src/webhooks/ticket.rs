//! What Tickets are to be like.

use kubewright::prelude::*;

use crate::api::example_org::v1::Ticket;

/// Called before a Ticket is created.
pub(super) fn mutator() -> Hook {
    mutating("default-ticket", complete).on([Create])
}

/// An example of a default: what names no team is of an unknown one. The patch is made of what is returned.
async fn complete(change: Change<Ticket>, _: Review) -> Mutated<Ticket> {
    let mut object = change.into_object();
    object
        .labels_mut()
        .entry("example.com/team".to_owned())
        .or_insert_with(|| "unknown".to_owned());
    Ok(object)
}

/// Called before a Ticket is created or changed.
pub(super) fn validator() -> Hook {
    validating("validate-ticket", validate)
}

/// An example of a rule: a team that is named has a name. What is not denied in words is allowed.
async fn validate(change: Change<Ticket>, _: Review) -> Validated {
    let team = change.object().labels().get("example.com/team");
    if team.is_some_and(String::is_empty) {
        return deny("the label `example.com/team` has to name a team");
    }
    Ok(())
}
