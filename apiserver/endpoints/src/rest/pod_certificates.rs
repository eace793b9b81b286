//! Who may answer a request for the certificate of a pod: who may sign for its signer.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::view::View;
use kubewright_auth::{About, Decision, Question};
use kubewright_validation::semantic::same;
use serde_json::Value;

use super::call::Call;

/// Refuses a change of the status by a user without the permission to sign for the signer, or for all of its domain.
pub(crate) fn may_answer(call: &Call, new: &Value, old: &Value) -> Vec<FieldError> {
    let is_answer = call.resource.kind == "PodCertificateRequest"
        && call.resource.group == "certificates.k8s.io"
        && call.path.subresource == "status";
    if !is_answer || same(new.at("status"), old.at("status")) {
        return Vec::new();
    }
    let signer = old.at("spec").text("signerName");
    let domain = signer.split('/').next().unwrap_or_default();
    if may_sign(call, signer) || may_sign(call, &format!("{domain}/*")) {
        return Vec::new();
    }
    let (user, signer) = (quoted(&call.user.username), quoted(signer));
    let detail = format!("User {user} is not permitted to \"sign\" for signer {signer}");
    let path = Path::new("spec.signerName");
    vec![FieldError::forbidden(&path, &detail)]
}

fn may_sign(call: &Call, signer: &str) -> bool {
    let question = Question {
        user: &call.user,
        verb: "sign",
        about: About::Resource {
            group: "certificates.k8s.io",
            resource: "signers",
            subresource: "",
            namespace: "",
            name: signer,
            fields: None,
        },
    };
    let decision = call.shared.access.authorizer.decide(&question);
    matches!(decision, Decision::Allow(_))
}
