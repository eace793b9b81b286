//! The group admissionregistration.k8s.io.

mod admission_policy_binding;
mod expressions;
mod match_conditions;
mod match_resources;
mod mutating_admission_policy;
mod mutations;
mod params;
mod policy_columns;
mod policy_spec;
mod policy_status;
pub(crate) mod static_suffix;
mod validating_admission_policy;
mod validations;
mod variables;
mod webhook_configuration;
pub(crate) mod webhooks;

use std::sync::Arc;

use crate::strategy::Strategy;
use admission_policy_binding::AdmissionPolicyBinding;
use mutating_admission_policy::MutatingAdmissionPolicy;
use policy_spec::Effect;
use validating_admission_policy::ValidatingAdmissionPolicy;
use webhook_configuration::WebhookConfiguration;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(version: &str, kind: &str) -> Option<Arc<dyn Strategy>> {
    let version = version.to_owned();
    Some(match kind {
        "MutatingAdmissionPolicy" => Arc::new(MutatingAdmissionPolicy { version }),
        "MutatingAdmissionPolicyBinding" => Arc::new(AdmissionPolicyBinding {
            version,
            effect: Effect::Mutates,
        }),
        "MutatingWebhookConfiguration" => Arc::new(WebhookConfiguration { mutating: true }),
        "ValidatingAdmissionPolicy" => Arc::new(ValidatingAdmissionPolicy),
        "ValidatingAdmissionPolicyBinding" => Arc::new(AdmissionPolicyBinding {
            version,
            effect: Effect::Validates,
        }),
        "ValidatingWebhookConfiguration" => Arc::new(WebhookConfiguration { mutating: false }),
        _ => return None,
    })
}
