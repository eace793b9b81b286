//! Admission policies: CEL expressions that the server itself evaluates, to change objects and to refuse them (spec B).

mod audit;
mod binding;
mod coverage;
mod definition;
mod input;
mod json_patch;
mod literal;
mod mutating;
mod mutator;
mod params;
mod refusals;
mod source;
mod validating;
mod validator;
mod variables;

use kubewright_apimachinery::status::Result;
use kubewright_validation::is_review;
use kubewright_webhook_client::Reach;

use super::attributes::{Attributes, Operation};
use super::cluster::Cluster;
use super::notes::Notes;
use super::reinvocation::Calls;
pub use coverage::ExpressionCoverage;
use mutator::Mutator;
use source::Source;
use validator::Validator;

/// The policies of a cluster, compiled once per change.
#[derive(Debug)]
pub(super) struct Policies {
    mutating: Source<Mutator>,
    validating: Source<Validator>,
}

impl Policies {
    /// No policies. With `coverage`, the values of conditions are seen.
    pub(super) fn new(coverage: bool) -> Self {
        Self {
            mutating: Source::new(
                "mutatingadmissionpolicies",
                "mutatingadmissionpolicybindings",
                coverage,
            ),
            validating: Source::new(
                "validatingadmissionpolicies",
                "validatingadmissionpolicybindings",
                coverage,
            ),
        }
    }

    /// The expressions of all policies, and the values that their conditions have had.
    pub(super) fn coverage(&self) -> Vec<ExpressionCoverage> {
        let mut all = self.mutating.coverage("MutatingAdmissionPolicy");
        all.extend(self.validating.coverage("ValidatingAdmissionPolicy"));
        all
    }

    pub(super) async fn mutate(
        &self,
        reach: Reach<'_>,
        cluster: &dyn Cluster,
        attributes: &mut Attributes,
        calls: &mut Calls,
    ) -> Result<()> {
        let definitions = self.mutating.current(cluster);
        let deletes = attributes.operation == Operation::Delete;
        if definitions.is_empty() || deletes || is_exempt(attributes) {
            return Ok(());
        }
        let dispatch = mutating::Dispatch {
            reach,
            cluster,
            attributes,
            calls,
        };
        Box::pin(dispatch.run(&definitions)).await
    }

    pub(super) async fn validate(
        &self,
        reach: Reach<'_>,
        cluster: &dyn Cluster,
        attributes: &Attributes,
        notes: &Notes,
    ) -> Result<()> {
        let definitions = self.validating.current(cluster);
        if definitions.is_empty() || is_exempt(attributes) {
            return Ok(());
        }
        let dispatch = validating::Dispatch {
            reach,
            cluster,
            attributes,
            notes,
        };
        Box::pin(dispatch.run(&definitions)).await
    }
}

/// Policies cannot lock themselves in.
fn is_exempt(attributes: &Attributes) -> bool {
    let (group, plural) = (&attributes.resource.group, &attributes.resource.plural);
    let is_policy = group == "admissionregistration.k8s.io"
        && matches!(
            plural.as_str(),
            "validatingadmissionpolicies"
                | "validatingadmissionpolicybindings"
                | "mutatingadmissionpolicies"
                | "mutatingadmissionpolicybindings"
        );
    is_policy || is_review(group, plural)
}
