//! CertificateSubjectRestriction: no client certificate for the group `system:masters` is asked for.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::status::Result;
use kubewright_apimachinery::view::View as _;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer as _;

use super::signer::is_about_requests;
use super::subject::forbidden;
use crate::attributes::{Attributes, Operation};

const SIGNER: &str = "kubernetes.io/kube-apiserver-client";

pub(super) fn validate(attributes: &Attributes) -> Result<()> {
    let spec = attributes.object.at("spec");
    if attributes.operation != Operation::Create
        || !is_about_requests(attributes, "")
        || spec.text("signerName") != SIGNER
        || !organizations(spec.text("request")).contains(&"system:masters".to_owned())
    {
        return Ok(());
    }
    let why = format!("use of {SIGNER} signer with system:masters group is not allowed");
    Err(forbidden(attributes, &why))
}

/// The organizations in the subject of a request, which is known to be one: it was validated before.
fn organizations(request: &str) -> Vec<String> {
    let Ok(pem) = STANDARD.decode(request) else {
        return Vec::new();
    };
    let Ok((_, pem)) = parse_x509_pem(&pem) else {
        return Vec::new();
    };
    let Ok((_, request)) = X509CertificationRequest::from_der(&pem.contents) else {
        return Vec::new();
    };
    let subject = &request.certification_request_info.subject;
    let organizations = subject.iter_organization();
    organizations
        .filter_map(|name| name.as_str().ok().map(str::to_owned))
        .collect()
}
