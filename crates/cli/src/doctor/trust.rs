//! Whether the `caBundle` of a webhook is valid, and whether all webhooks of one server have the same.

use base64::Engine as _;
use kubewright_certificates::TrustBundle;
use serde_json::Value;
use x509_parser::prelude::parse_x509_certificate;

use super::finding::{Check, Finding};

/// What can be said about the `caBundle` of a webhook, next to those of all others.
pub(super) fn findings<'a>(webhook: &Value, all: impl Iterator<Item = &'a Value>) -> Vec<Finding> {
    let config = &webhook["clientConfig"];
    let Some(text) = config["caBundle"].as_str().filter(|text| !text.is_empty()) else {
        return vec![Finding::of(Check::CaBundleMissing, [])];
    };
    let Some(bundle) = read(text) else {
        return vec![Finding::of(Check::CaBundleUnreadable, [])];
    };
    let mut found = Vec::new();
    let expired = |der: &&rustls::pki_types::CertificateDer<'_>| {
        parse_x509_certificate(der).is_ok_and(|(_, certificate)| !certificate.validity().is_valid())
    };
    let certificates = bundle.certificates();
    match certificates.iter().filter(expired).count() {
        0 => found.push(Finding::good("the certificates in its caBundle are valid")),
        some if some < certificates.len() => {
            found.push(Finding::of(Check::CaBundlePartlyExpired, []));
        }
        _ => found.push(Finding::of(Check::CaBundleExpired, [])),
    }
    let service = &config["service"];
    let same = all.filter(|other| {
        let other = &other["clientConfig"]["service"];
        service.is_object()
            && (&other["namespace"], &other["name"]) == (&service["namespace"], &service["name"])
    });
    for other in same {
        let bundle = other["clientConfig"]["caBundle"].as_str();
        if bundle.unwrap_or_default() != text {
            let name = other["name"].as_str().unwrap_or_default();
            found.push(Finding::of(Check::CaBundleDiffers, [("webhook", &name)]));
        }
    }
    found
}

/// The authorities in a `caBundle`.
pub(crate) fn read(bundle: &str) -> Option<TrustBundle> {
    let text = base64::prelude::BASE64_STANDARD.decode(bundle).ok()?;
    TrustBundle::from_pem(text).ok()
}
