//! One request on its way through the validating policies: all are evaluated, and the first denial is the answer.

use kubewright_apimachinery::status::{Result, Status};
use kubewright_webhook_client::Reach;
use serde_json::json;

use super::audit;
use super::binding::Binding;
use super::definition::{Definition, Selected};
use super::input::{self, Input};
use super::params::{self, Params};
use super::validator::{Annotated, Decision, Validator, Verdict};
use crate::attributes::Attributes;
use crate::cluster::Cluster;
use crate::expressions::Request;
use crate::forms::Forms;
use crate::matching::Matched;
use crate::notes::Notes;
use crate::plugins::forbidden;

/// One request.
pub(super) struct Dispatch<'a> {
    pub(super) reach: Reach<'a>,
    pub(super) cluster: &'a dyn Cluster,
    pub(super) attributes: &'a Attributes,
    pub(super) notes: &'a Notes,
}

/// A policy that denies the request.
struct Denial {
    message: String,
    reason: String,
}

/// What the policies have come to so far.
#[derive(Default)]
struct Outcome {
    denial: Option<Denial>,
    failures: Vec<audit::ValidationFailure>,
}

type Policy = Definition<Validator>;

impl Dispatch<'_> {
    pub(super) async fn run(&self, policies: &[Policy]) -> Result<()> {
        let mut outcome = Outcome::default();
        let mut forms = Forms::default();
        for policy in policies {
            self.policy(policy, &mut forms, &mut outcome).await?;
        }
        audit::validations_failed(self.notes, &outcome.failures);
        match outcome.denial {
            None => Ok(()),
            Some(denial) => Err(denial.into_status(self.attributes)),
        }
    }

    async fn policy(
        &self,
        policy: &Policy,
        forms: &mut Forms,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let (cluster, attributes) = (self.cluster, self.attributes);
        let Selected {
            matched,
            params: resource,
        } = match policy.matches(cluster, attributes) {
            Ok(Some(selected)) => selected,
            Ok(None) => return Ok(()),
            Err(why) => {
                outcome.misconfigured(policy, None, &why);
                return Ok(());
            }
        };
        let mut annotations = audit::Annotations::default();
        for binding in &policy.bindings {
            match binding.matches(cluster, attributes) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(why) => {
                    outcome.misconfigured(policy, Some(binding), why.message());
                    continue;
                }
            }
            let reference = binding.param_ref.as_ref();
            let collected = params::collect(
                self.reach,
                cluster,
                attributes,
                resource.as_ref(),
                reference,
            );
            let params = match collected.await {
                Ok(params) => params,
                Err(why) => {
                    outcome.misconfigured(policy, Some(binding), &why);
                    continue;
                }
            };
            let verdicts = match self.verdicts(policy, &matched, forms, &params).await? {
                Ok(verdicts) => verdicts,
                Err(why) => {
                    outcome.misconfigured(policy, Some(binding), &why);
                    continue;
                }
            };
            for verdict in verdicts {
                self.decided(policy, binding, verdict, &mut annotations, outcome);
            }
        }
        annotations.publish(&policy.name, self.notes);
        Ok(())
    }

    /// Evaluates the policy with each of the parameters.
    ///
    /// # Errors
    /// The namespace of the request does not exist. Inside, why the objects cannot be had in the version of the policy.
    async fn verdicts(
        &self,
        policy: &Policy,
        matched: &Matched,
        forms: &mut Forms,
        params: &[Params],
    ) -> Result<std::result::Result<Vec<Verdict>, String>> {
        let attributes = self.attributes;
        if params.is_empty() {
            input::namespace(self.cluster, attributes)?;
            return Ok(Ok(Vec::new()));
        }
        let form = match forms.of(self.reach, attributes, matched, true).await {
            Ok(form) => form,
            Err(why) => {
                let why = format!("failed to convert object version: {}", why.message());
                return Ok(Err(why));
            }
        };
        let namespace = input::namespace(self.cluster, attributes)?;
        let request = Request::new(attributes, matched, form.object, form.old);
        let verdict = |params: &Params| {
            let input = Input {
                cluster: self.cluster,
                attributes,
                request: &request,
                namespace: &namespace,
                params,
            };
            policy.expressions.validate(&input, policy.ignore_failure)
        };
        Ok(Ok(params.iter().map(verdict).collect()))
    }

    fn decided(
        &self,
        policy: &Policy,
        binding: &Binding,
        verdict: Verdict,
        annotations: &mut audit::Annotations,
        outcome: &mut Outcome,
    ) {
        for (index, decision) in verdict.decisions.into_iter().enumerate() {
            let (message, reason) = match decision {
                Decision::Admit => continue,
                Decision::Failed(_) if policy.ignore_failure => continue,
                Decision::Failed(why) => (why, String::new()),
                Decision::Deny { message, reason } => (message, reason),
            };
            for action in &binding.actions {
                match action.as_str() {
                    "Deny" => outcome.deny(policy, Some(binding), &message, &reason),
                    "Audit" => outcome.failures.push(audit::ValidationFailure {
                        message: message.clone(),
                        policy: policy.name.clone(),
                        binding: binding.name.clone(),
                        expression_index: index,
                        validation_actions: binding.actions.clone(),
                    }),
                    "Warn" => self.notes.warn(&format!(
                        "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {message}",
                        policy.name, binding.name
                    )),
                    _ => {}
                }
            }
        }
        for annotated in verdict.annotations {
            match annotated {
                Annotated::Published { key, value } => annotations.add(&key, &value),
                Annotated::Failed(_) if policy.ignore_failure => {}
                Annotated::Excluded => {}
                Annotated::Failed(why) | Annotated::Refused(why) => {
                    outcome.deny(policy, Some(binding), &why, "");
                }
            }
        }
    }
}

impl Outcome {
    fn misconfigured(&mut self, policy: &Policy, binding: Option<&Binding>, why: &str) {
        if policy.ignore_failure {
            return;
        }
        let what = if binding.is_some() {
            "binding"
        } else {
            "policy"
        };
        let message = format!("failed to configure {what}: {why}");
        self.deny(policy, binding, &message, "");
    }

    /// The first denial is the answer.
    fn deny(&mut self, policy: &Policy, binding: Option<&Binding>, message: &str, reason: &str) {
        self.denial.get_or_insert_with(|| {
            let name = &policy.name;
            let by = match binding {
                Some(binding) => format!("'{name}' with binding '{}'", binding.name),
                None => format!("'{name}'"),
            };
            Denial {
                message: format!("ValidatingAdmissionPolicy {by} denied request: {message}"),
                reason: reason.to_owned(),
            }
        });
    }
}

impl Denial {
    fn into_status(self, attributes: &Attributes) -> Status {
        let (code, reason) = match self.reason.as_str() {
            "Forbidden" => (403, "Forbidden"),
            "Unauthorized" => (401, "Unauthorized"),
            "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
            _ => (422, "Invalid"),
        };
        let mut status = forbidden(attributes, &self.message).with_reason(code, reason);
        let causes = json!([{ "message": self.message }]);
        status.details_mut().insert("causes".to_owned(), causes);
        status
    }
}
