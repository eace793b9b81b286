//! How a definition converts between its versions.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::names::dns1035_label;
use kubewright_apimachinery::view::View;
use kubewright_validation::check::{Errors, one_of};
use kubewright_validation::webhook_client;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::Value;

const KNOWN: [&str; 2] = ["v1", "v1beta1"];

/// Checks the conversion. `recognized` asks for a version of reviews that this server knows; `loose` lets a bundle of
/// certificates pass that is none.
pub(super) fn check(
    conversion: &Value,
    path: &Path<'_>,
    recognized: bool,
    loose: bool,
    errors: &mut Errors,
) {
    one_of(conversion, path, "strategy", &["None", "Webhook"], errors);
    let webhook = conversion.at("webhook");
    let (client, at) = (
        webhook.at("clientConfig"),
        path.child("webhookClientConfig"),
    );
    let versions_at = path.child("conversionReviewVersions");
    if conversion.text("strategy") == "Webhook" {
        if webhook.has("clientConfig") {
            webhook_client(client, &at, errors);
            if !loose && client.has("caBundle") && !is_bundle(client.text("caBundle")) {
                errors.push(bad_bundle(client.text("caBundle"), &at.child("caBundle")));
            }
        } else {
            let detail = "required when strategy is set to Webhook";
            errors.push(FieldError::required(&at, detail));
        }
        review_versions(webhook, &versions_at, recognized, errors);
        return;
    }
    let detail = "should not be set when strategy is not set to Webhook";
    if webhook.has("clientConfig") {
        errors.push(FieldError::forbidden(&at, detail));
    }
    if !webhook.list("conversionReviewVersions").is_empty() {
        errors.push(FieldError::forbidden(&versions_at, detail));
    }
}

fn review_versions(webhook: &Value, path: &Path<'_>, recognized: bool, errors: &mut Errors) {
    let versions = webhook.list("conversionReviewVersions");
    if versions.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    for (index, version) in versions.iter().enumerate() {
        let text = version.as_str().unwrap_or_default();
        let at = path.index(index);
        if versions[..index].contains(version) {
            errors.push(FieldError::invalid(&at, text, "duplicate version"));
            continue;
        }
        for problem in dns1035_label(text) {
            errors.push(FieldError::invalid(&at, text, &problem));
        }
    }
    if recognized && !versions.iter().any(is_known) {
        let value = webhook.at("conversionReviewVersions").clone();
        let detail = format!("must include at least one of {}", KNOWN.join(", "));
        errors.push(FieldError::invalid(path, value, &detail));
    }
}

fn is_known(version: &Value) -> bool {
    version.as_str().is_some_and(|text| KNOWN.contains(&text))
}

/// Whether a definition has a version of reviews that this server knows, or none at all.
pub(super) fn has_recognized(spec: &Value) -> bool {
    let webhook = spec.at("conversion").at("webhook");
    let versions = webhook.list("conversionReviewVersions");
    versions.is_empty() || versions.iter().any(is_known)
}

/// Whether a definition has an invalid `caBundle`.
pub(super) fn has_bad_bundle(definition: &Value) -> bool {
    let webhook = definition.at("spec").at("conversion").at("webhook");
    let bundle = webhook.at("clientConfig").text("caBundle");
    !bundle.is_empty() && !is_bundle(bundle)
}

fn bad_bundle(text: &str, path: &Path<'_>) -> FieldError {
    let shown = quoted(text);
    let detail = "unable to load root certificates: unable to parse bytes as PEM block";
    FieldError::invalid_shown(path, &shown, detail)
}

/// Whether a CA bundle contains at least one certificate, and only readable ones.
pub(crate) fn is_bundle(base64: &str) -> bool {
    let Ok(pem) = STANDARD.decode(base64) else {
        return false;
    };
    let mut found = CertificateDer::pem_slice_iter(&pem).peekable();
    found.peek().is_some() && found.all(|certificate| certificate.is_ok())
}
