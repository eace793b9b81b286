//! The policy tickets for Tickets. Replace this example with your own rules.

use kubewright::policy;

use crate::api::example_org::v1::Ticket;

/// Returns the policy. Its rule is an example: the label for the tier, if there is one, has one of two values.
pub fn policy() -> policy::Policy<Ticket> {
    policy::Policy::validating("tickets").rule(
        "object.metadata.?labels[?'example.com/tier'].orValue('backend') in ['backend', 'frontend']",
        "the label `example.com/tier` must be backend or frontend",
    )
}
