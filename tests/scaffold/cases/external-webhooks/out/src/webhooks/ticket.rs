//! Webhooks for Tickets.

use kubewright::prelude::*;

use crate::api::example_org::v1::Ticket;

/// Declares the webhook: the API server calls it before it creates a Ticket.
pub(super) fn mutator() -> Hook {
    mutating("default-ticket", complete).on([Create])
}

/// An example of a default: a Ticket without a team label belongs to the team `unknown`. The patch is computed from the
/// returned object.
async fn complete(change: Change<Ticket>, _: Review) -> Mutated<Ticket> {
    let mut object = change.into_object();
    object
        .labels_mut()
        .entry("example.com/team".to_owned())
        .or_insert_with(|| "unknown".to_owned());
    Ok(object)
}

/// Declares the webhook: the API server calls it before it creates or updates a Ticket.
pub(super) fn validator() -> Hook {
    validating("validate-ticket", validate)
}

/// An example of a rule: the team label must not be empty.
async fn validate(change: Change<Ticket>, _: Review) -> Validated {
    let team = change.object().labels().get("example.com/team");
    if team.is_some_and(String::is_empty) {
        return deny("the label `example.com/team` must not be empty");
    }
    Ok(())
}
