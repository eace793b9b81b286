//! Admission policies: validation by CEL expressions in the server itself (spec B).

mod audit;
mod binding;
mod definition;
mod params;
mod source;
mod validating;
mod validator;

use kubewright_apimachinery::status::Result;
use kubewright_webhook_client::Reach;

use super::attributes::Attributes;
use super::cluster::Cluster;
use super::notes::Notes;
use source::Source;
use validator::Validator;

/// The policies of a cluster, compiled once per change.
#[derive(Debug)]
pub(super) struct Policies {
    validating: Source<Validator>,
}

impl Policies {
    pub(super) fn new() -> Self {
        Self {
            validating: Source::new(
                "validatingadmissionpolicies",
                "validatingadmissionpolicybindings",
            ),
        }
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

/// Policies cannot lock themselves in, and reviews, which are not stored, are asked for by the server's own parts.
fn is_exempt(attributes: &Attributes) -> bool {
    let resource = &attributes.resource;
    match resource.group.as_str() {
        "admissionregistration.k8s.io" => matches!(
            resource.plural.as_str(),
            "validatingadmissionpolicies"
                | "validatingadmissionpolicybindings"
                | "mutatingadmissionpolicies"
                | "mutatingadmissionpolicybindings"
        ),
        "authentication.k8s.io" => {
            matches!(
                resource.plural.as_str(),
                "selfsubjectreviews" | "tokenreviews"
            )
        }
        "authorization.k8s.io" => matches!(
            resource.plural.as_str(),
            "localsubjectaccessreviews"
                | "selfsubjectaccessreviews"
                | "selfsubjectrulesreviews"
                | "subjectaccessreviews"
        ),
        _ => false,
    }
}
