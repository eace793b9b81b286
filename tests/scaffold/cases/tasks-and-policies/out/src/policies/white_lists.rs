//! The policy white-lists for WhiteLists. Replace this example with your own rules.

use kubewright::policy;

use crate::api::police::v1::WhiteList;

/// Returns the policy. Its rule is an example: the label for the tier, if there is one, has one of two values.
pub fn policy() -> policy::Policy<WhiteList> {
    policy::Policy::validating("white-lists").rule(
        "object.metadata.?labels[?'example.com/tier'].orValue('backend') in ['backend', 'frontend']",
        "the label `example.com/tier` must be backend or frontend",
    )
}
