//! The mutating policies that refuse a request: the first words the answer, which names them all.

use kubewright_apimachinery::status::Status;
use kubewright_apimachinery::view::View as _;
use serde_json::json;

use super::binding::Binding;
use super::definition::Definition;
use super::mutator::Mutator;
use crate::attributes::Attributes;
use crate::plugins::forbidden;

type Policy = Definition<Mutator>;

/// A policy that refuses the request.
struct Refusal {
    message: String,
    /// Whether the message is of the policy's own doing rather than of its configuration.
    invalid: bool,
}

/// What the policies have come to so far.
#[derive(Default)]
pub(super) struct Refusals(Vec<Refusal>);

impl Refusals {
    /// A policy or a binding that cannot be gone by.
    pub(super) fn misconfigured(&mut self, policy: &Policy, binding: Option<&Binding>, why: &str) {
        let what = if binding.is_some() {
            "binding"
        } else {
            "policy"
        };
        let why = format!("failed to configure {what}: {why}");
        self.refuse(policy, binding, &why, false);
    }

    /// A policy that refuses, or whose failure does unless its failure policy is `Ignore`.
    pub(super) fn refuse(
        &mut self,
        policy: &Policy,
        binding: Option<&Binding>,
        why: &str,
        invalid: bool,
    ) {
        if policy.ignore_failure {
            return;
        }
        let name = &policy.name;
        let by = match binding {
            Some(binding) => format!("'{name}' with binding '{}'", binding.name),
            None => format!("\"{name}\""),
        };
        self.0.push(Refusal {
            message: format!("policy {by} denied request: {why}"),
            invalid,
        });
    }

    /// The answer is worded by the first refusal, and names them all.
    pub(super) fn into_status(self, attributes: &Attributes) -> Option<Status> {
        let first = self.0.first()?;
        let reason = if first.invalid {
            "Invalid"
        } else {
            "Forbidden"
        };
        let about = forbidden(attributes, "").to_value();
        let mut details = about.at("details").as_object().cloned().unwrap_or_default();
        let causes = self
            .0
            .iter()
            .map(|refusal| json!({"message": refusal.message}));
        details.insert("causes".to_owned(), causes.collect());
        Some(Status::new(403, reason, first.message.clone()).with_details(details))
    }
}
