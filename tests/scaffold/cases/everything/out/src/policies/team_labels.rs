//! The policy team-labels for Pods. Replace this example with your own rules.

use k8s_openapi::api::core::v1::Pod;
use kubewright::policy;

/// Returns the policy. Its rule is an example: the label for the tier, if there is one, has one of two values.
pub fn policy() -> policy::Policy<Pod> {
    policy::Policy::validating("team-labels").rule(
        "object.metadata.?labels[?'example.com/tier'].orValue('backend') in ['backend', 'frontend']",
        "the label `example.com/tier` must be backend or frontend",
    )
}
