//! What a `TokenRequest` may ask for.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::Value;

const SHORTEST: i64 = 600;
const LONGEST: i64 = 1 << 32;
const API_GROUPS: &str = "admissionReviewAPIGroups";

pub(super) fn check(request: &Value) -> Vec<FieldError> {
    let spec = request.at("spec");
    let path = Path::new("spec");
    let mut errors = Vec::new();
    let (at, lasts) = (
        path.child("expirationSeconds"),
        spec.int("expirationSeconds").unwrap_or(0),
    );
    if lasts < SHORTEST {
        let detail = "may not specify a duration less than 10 minutes";
        errors.push(FieldError::invalid(&at, lasts, detail));
    } else if lasts > LONGEST {
        let detail = "may not specify a duration larger than 2^32 seconds";
        errors.push(FieldError::invalid(&at, lasts, detail));
    }
    let attestations = spec.at("attestations");
    let at = path.child("attestations");
    if !is_of_webhook(spec.at("boundObjectRef")) {
        if attestations.as_object().is_some_and(|all| !all.is_empty()) {
            let detail = "attestations may only be specified with a webhook bound object reference";
            return vec![FieldError::invalid(&at, attestations.clone(), detail)];
        }
        return errors;
    }
    if spec.list("audiences").len() != 1 {
        let detail = "must be length 1 when bound to a webhook config";
        let audiences = spec.at("audiences").clone();
        errors.push(FieldError::invalid(
            &path.child("audiences"),
            audiences,
            detail,
        ));
    }
    attested(attestations, &at, &mut errors);
    errors
}

pub(super) fn is_of_webhook(bound: &Value) -> bool {
    bound.text("apiVersion") == "admissionregistration.k8s.io/v1"
        && matches!(
            bound.text("kind"),
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration"
        )
}

/// A token for a webhook says for objects of which API group it asks.
fn attested(attestations: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let all = attestations.as_object();
    let Some((key, values)) = all
        .filter(|all| all.len() == 1)
        .and_then(|all| all.iter().next())
    else {
        let detail =
            "webhook bound requests require exactly one admissionReviewAPIGroups attestation";
        errors.push(FieldError::invalid(path, attestations.clone(), detail));
        return;
    };
    let at = path.key(key);
    if key != API_GROUPS {
        errors.push(FieldError::not_supported(&at, key.as_str(), &[API_GROUPS]));
        return;
    }
    let Some([group]) = values.as_array().map(Vec::as_slice) else {
        let detail = "must specify a single value";
        errors.push(FieldError::invalid(&at, values.clone(), detail));
        return;
    };
    let group = group.as_str().unwrap_or_default();
    let at = at.index(0);
    if group.is_empty() {
        errors.push(FieldError::invalid(
            &at,
            group,
            "may not be an empty string",
        ));
    } else if group != "*" {
        for problem in names::dns1123_subdomain(group) {
            let detail = format!("must specify a valid API Group: {problem}");
            errors.push(FieldError::invalid(&at, group, &detail));
        }
    }
}
