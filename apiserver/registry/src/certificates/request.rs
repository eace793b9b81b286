//! Requests for certificates.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::error::X509Error;
use x509_parser::pem::{Pem, parse_x509_pem};
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;

use kubewright_validation::asn1;
use kubewright_validation::check::{Errors, one_of};
use kubewright_validation::internal::difference;
use kubewright_validation::metadata;
use kubewright_validation::semantic::same;
use kubewright_validation::signers::signer_name;

const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// The rules for the request itself; metadata come before.
pub(crate) fn create(object: &Value, errors: &mut Errors) {
    check(object, &Value::Null, errors);
}

pub(crate) fn update(subresource: &str, new: &Value, old: &Value, errors: &mut Errors) {
    metadata::nameless(new, errors);
    check(new, old, errors);
    let path = Path::new("status.conditions");
    let of = |object: &Value, kind: &str| -> Vec<Value> {
        let all = object.at("status").list("conditions").iter();
        all.filter(|condition| condition.text("type") == kind)
            .cloned()
            .collect()
    };
    for kind in ["Approved", "Denied", "Failed"] {
        if of(new, kind).len() < of(old, kind).len() {
            let detail = format!("updates may not remove a condition of type {kind:?}");
            errors.push(FieldError::forbidden(&path, &detail));
        }
    }
    for kind in ["Approved", "Denied"] {
        let (now, before) = (of(new, kind), of(old, kind));
        if subresource == "approval" || now.len() < before.len() {
            continue;
        }
        let (now, before) = (Value::Array(now), Value::Array(before));
        if now.as_array().map(Vec::len) > before.as_array().map(Vec::len) {
            let detail = format!("updates may not add a condition of type {kind:?}");
            errors.push(FieldError::forbidden(&path, &detail));
        } else if !same(&now, &before) {
            let diff = difference(CONDITIONS, &before, &now);
            let detail = format!("updates may not modify a condition of type {kind:?}\n{diff}");
            errors.push(FieldError::forbidden(&path, &detail));
        }
    }
    let certificate = |object: &Value| object.at("status").text("certificate").to_owned();
    if certificate(new) != certificate(old) {
        let at = Path::new("status.certificate");
        if subresource != "status" {
            let detail = "updates may not set certificate content";
            errors.push(FieldError::forbidden(&at, detail));
        } else if !certificate(old).is_empty() {
            let detail = "updates may not modify existing certificate content";
            errors.push(FieldError::forbidden(&at, detail));
        }
    }
    metadata::older_changed(new, old, errors);
}

/// The signer of requests in v1beta1 that named none.
const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";

const CONDITIONS: &str = "[]certificates.CertificateSigningRequestCondition";

fn check(object: &Value, old: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    if let Err(problem) = request(spec.text("request")) {
        let value = spec.at("request").clone();
        errors.push(FieldError::invalid(&path.child("request"), value, &problem));
    }
    let usages = spec.list("usages");
    let at = path.child("usages");
    if usages.is_empty() {
        errors.push(FieldError::required(&at, ""));
    }
    let text = |usage: &Value| usage.as_str().unwrap_or_default().to_owned();
    for (index, usage) in usages.iter().enumerate() {
        if !USAGES.contains(&text(usage).as_str()) {
            errors.push(FieldError::not_supported(
                &at.index(index),
                text(usage),
                &USAGES,
            ));
        }
    }
    for (index, usage) in usages.iter().enumerate() {
        if usages[..index].contains(usage) {
            errors.push(FieldError::duplicate(&at.index(index), text(usage)));
        }
    }
    let (signer, at) = (spec.text("signerName"), path.child("signerName"));
    if signer == LEGACY_SIGNER && old.at("spec").text("signerName") != LEGACY_SIGNER {
        let detail = "the legacy signerName is not allowed via this API version";
        errors.push(FieldError::invalid(&at, signer, detail));
    } else {
        signer_name(signer, &at, errors);
    }
    if let Some(seconds) = spec.int("expirationSeconds").filter(|s| *s < 600) {
        let detail = "may not specify a duration less than 600 seconds (10 minutes)";
        let at = path.child("expirationSeconds");
        errors.push(FieldError::invalid(&at, seconds, detail));
    }
    conditions(object, old, errors);
    if let Err(problem) = certificate(object.at("status").text("certificate")) {
        let at = Path::new("status.certificate");
        errors.push(FieldError::invalid(&at, "<certificate data>", problem));
    }
}

fn conditions(object: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("status.conditions");
    let all = object.at("status").list("conditions");
    let has = |all: &[Value], kind: &str| all.iter().any(|other| other.text("type") == kind);
    let before = old.at("status").list("conditions");
    let was_both = has(before, "Approved") && has(before, "Denied");
    for (index, condition) in all.iter().enumerate() {
        let at = path.index(index);
        let kind = condition.text("type");
        if kind.is_empty() {
            errors.push(FieldError::required(&at.child("type"), ""));
        }
        let only = matches!(kind, "Approved" | "Denied" | "Failed");
        let words: &[&str] = if only {
            &["True"]
        } else {
            &["False", "True", "Unknown"]
        };
        one_of(condition, &at, "status", words, errors);
        if has(&all[..index], kind) {
            errors.push(FieldError::duplicate(&at.child("type"), kind));
        }
    }
    if has(all, "Approved") && has(all, "Denied") && !was_both {
        let conditions =
            ["Approved", "Denied"].map(|kind| format!("conditions[{{\"type\": \"{kind}\"}}]"));
        let detail = format!("must specify at most one of: `{}`", conditions.join("`, `"));
        let found = format!("{{{}}}", conditions.join(", "));
        let error = FieldError::invalid(&path, found, &detail);
        let second = all.iter().filter_map(|one| one.at("type").as_str());
        let second = second
            .filter(|kind| matches!(*kind, "Approved" | "Denied"))
            .nth(1);
        let detail = "Approved and Denied conditions are mutually exclusive";
        let handwritten = FieldError::invalid(&path, second.unwrap_or_default(), detail);
        errors.push(error.declarative_for(handwritten));
    }
}

fn request(encoded: &str) -> Result<(), String> {
    let no_request = "PEM block type must be CERTIFICATE REQUEST".to_owned();
    let Ok(text) = STANDARD.decode(encoded) else {
        return Err(no_request);
    };
    let Ok((_, pem)) = parse_x509_pem(&text) else {
        return Err(no_request);
    };
    if pem.label != "CERTIFICATE REQUEST" {
        return Err(no_request);
    }
    let (_, request) = X509CertificationRequest::from_der(&pem.contents)
        .map_err(|_| asn1::problem(&pem.contents))?;
    match request.verify_signature() {
        Err(X509Error::SignatureVerificationError) => Err(wrong_signature(&request)),
        // Signatures of other kinds are taken as they are.
        _ => Ok(()),
    }
}

/// What Go says of a signature that is not that of the request's own key.
fn wrong_signature(request: &X509CertificationRequest<'_>) -> String {
    match request.certification_request_info.subject_pki.parsed() {
        Ok(PublicKey::RSA(_)) => "crypto/rsa: verification error",
        Ok(PublicKey::EC(_)) => "x509: ECDSA verification failure",
        _ => "x509: Ed25519 verification failure",
    }
    .to_owned()
}

fn certificate(encoded: &str) -> Result<(), &'static str> {
    if encoded.is_empty() {
        return Ok(());
    }
    let none = "must contain at least one CERTIFICATE PEM block";
    let text = STANDARD.decode(encoded).map_err(|_| none)?;
    let mut blocks = Pem::iter_from_buffer(&text)
        .filter_map(Result::ok)
        .peekable();
    if blocks.peek().is_none() {
        return Err(none);
    }
    for block in blocks {
        if block.label != "CERTIFICATE" {
            return Err("only CERTIFICATE PEM blocks are allowed");
        }
        if block.parse_x509().is_err() {
            return Err("x509: malformed certificate");
        }
    }
    Ok(())
}
