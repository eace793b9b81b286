//! Certificates in objects: bundles of those that clients trust, and requests for the certificates of pods.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::Value;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::parse_x509_certificate;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;

use crate::check::{Errors, problems};
use crate::conditions::conditions;
use crate::semantic::same;
use crate::signers::{longest_expiration, signer_name, user_annotations};

const LARGEST_BUNDLE: usize = 1024 * 1024;
const LARGEST_REQUEST: usize = 10 * 1024;
const LARGEST_CHAIN: usize = 100 * 1024;
const LONGEST_UID: usize = 128;
const SHORTEST_EXPIRATION: i64 = 60 * 60;

/// A block of a PEM text.
struct Block {
    label: String,
    has_headers: bool,
    content: Vec<u8>,
}

/// Returns the blocks of a PEM text; what is none is left out.
fn blocks(text: &str) -> Vec<Block> {
    let found = text.split("-----BEGIN ").skip(1).filter_map(|part| {
        let (label, body) = part.split_once("-----")?;
        let (body, _) = body.split_once(&format!("-----END {label}-----"))?;
        let (headers, lines): (Vec<&str>, Vec<&str>) = body
            .lines()
            .map(str::trim)
            .partition(|line| line.contains(':'));
        Some(Block {
            label: label.to_owned(),
            has_headers: !headers.is_empty(),
            content: STANDARD.decode(lines.concat()).ok()?,
        })
    });
    found.collect()
}

/// The certificates of a bundle: authorities, each once.
pub fn trust_anchors(text: &str, path: &Path<'_>, errors: &mut Errors) {
    if text.len() > LARGEST_BUNDLE {
        errors.push(FieldError::too_long(path, LARGEST_BUNDLE));
        return;
    }
    let mut wrong = |detail: &str| {
        errors.push(FieldError::invalid(path, "<value omitted>", detail));
    };
    let blocks = blocks(text);
    let mut is_right = true;
    for (index, block) in blocks.iter().enumerate() {
        let parsed = parse_x509_certificate(&block.content);
        let problem = if block.label != "CERTIFICATE" {
            format!("has bad block type: {}", block.label)
        } else if block.has_headers {
            "has PEM block headers".to_owned()
        } else {
            match parsed {
                Ok(([], certificate)) if certificate.is_ca() => continue,
                Ok(([], _)) => "does not have the CA bit set".to_owned(),
                _ => "does not parse as X.509".to_owned(),
            }
        };
        is_right = false;
        wrong(&format!("entry {index} {problem}"));
    }
    if !is_right {
        return;
    }
    if blocks.is_empty() {
        wrong("at least one trust anchor must be provided");
    }
    for (index, block) in blocks.iter().enumerate() {
        let is_same = |other: &Block| other.content == block.content;
        let again = blocks
            .iter()
            .enumerate()
            .filter(|(_, other)| is_same(other));
        let indices: Vec<String> = again.map(|(index, _)| index.to_string()).collect();
        if indices.len() > 1 && !blocks[..index].iter().any(is_same) {
            let indices = indices.join(" ");
            wrong(&format!("duplicate trust anchor (indices [{indices}])"));
        }
    }
}

/// What a new request for the certificate of a pod says.
pub fn pod_certificate_request(spec: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let signer = spec.text("signerName");
    signer_name(signer, &path.child("signerName"), errors);
    user_annotations(spec, &path, "unverifiedUserAnnotations", errors);
    for (name, uid) in [
        ("podName", "podUID"),
        ("serviceAccountName", "serviceAccountUID"),
        ("nodeName", "nodeUID"),
    ] {
        let (at, text) = (path.child(name), spec.text(name));
        problems(&at, text, names::dns1123_subdomain(text), errors);
        let (at, text) = (path.child(uid), spec.text(uid));
        if text.is_empty() {
            errors.push(FieldError::invalid(&at, text, "must not be empty"));
        } else if text.len() > LONGEST_UID {
            errors.push(FieldError::too_long(&at, LONGEST_UID));
        }
    }
    let at = path.child("maxExpirationSeconds");
    let Some(seconds) = spec.int("maxExpirationSeconds") else {
        errors.push(FieldError::required(&at, "must be set"));
        return;
    };
    let longest = longest_expiration(signer);
    if !(SHORTEST_EXPIRATION..=longest).contains(&seconds) {
        let detail = format!("must be in the range [{SHORTEST_EXPIRATION}, {longest}]");
        errors.push(FieldError::invalid(&at, seconds, &detail));
    }
    let given = |field: &str| !spec.text(field).is_empty();
    match (
        given("stubPKCS10Request"),
        given("pkixPublicKey"),
        given("proofOfPossession"),
    ) {
        (true, false, false) => {
            let at = path.child("stubPKCS10Request");
            stub(spec.text("stubPKCS10Request"), &at, errors);
        }
        // An older version has the key and its proof as they are.
        (false, true, true) => {}
        _ => {
            let detail = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
            errors.push(FieldError::invalid_omitted(&path, detail));
        }
    }
}

/// A request that says nothing but a key.
fn stub(encoded: &str, path: &Path<'_>, errors: &mut Errors) {
    let content = STANDARD.decode(encoded).unwrap_or_default();
    if content.len() > LARGEST_REQUEST {
        errors.push(FieldError::too_long(path, LARGEST_REQUEST));
        return;
    }
    let Ok(([], request)) = X509CertificationRequest::from_der(&content) else {
        let detail = "must be a valid PKCS#10 CSR";
        errors.push(FieldError::invalid_omitted(path, detail));
        return;
    };
    let key = &request.certification_request_info.subject_pki;
    match key.parsed() {
        Ok(PublicKey::RSA(key)) if !matches!(key.key_size(), 3072 | 4096) => {
            let size = format!("{}-bit modulus", key.key_size());
            let detail = "RSA keys must have modulus size 3072 or 4096";
            errors.push(FieldError::invalid(path, size, detail));
        }
        // Coordinates on the curve P-521 have 66 bytes.
        Ok(PublicKey::EC(key)) if !matches!(key.key_size(), 256 | 384 | 528) => {
            let curve = format!("curve P-{}", key.key_size());
            let detail = "elliptic public keys must use curve P256, P384, or P521";
            errors.push(FieldError::invalid(path, curve, detail));
        }
        _ if request.verify_signature().is_err() => {
            errors.push(FieldError::invalid_omitted(path, "invalid signature"));
        }
        _ => {}
    }
}

/// What a signer answers to a request for the certificate of a pod: once, that it is issued, denied or failed.
pub fn pod_certificate_answer(new: &Value, old: &Value, errors: &mut Errors) {
    const ANSWERS: [&str; 3] = ["Issued", "Denied", "Failed"];
    let path = Path::new("status");
    let (status, before) = (new.at("status"), old.at("status"));
    let known = errors.len();
    for (index, condition) in status.list("conditions").iter().enumerate() {
        let at = format!("conditions.[{index}]");
        let at = path.child(&at);
        let (kind, at) = (condition.text("type"), at.child("type"));
        if !ANSWERS.contains(&kind) {
            errors.push(FieldError::not_supported(&at, kind, &ANSWERS));
            continue;
        }
        let earlier = &status.list("conditions")[..index];
        if earlier
            .iter()
            .any(|other| ANSWERS.contains(&other.text("type")))
        {
            let detail = "There may be at most one condition with type \"Issued\", \"Denied\", or \"Failed\"";
            errors.push(FieldError::invalid(&at, kind, detail));
        }
        if condition.text("status") != "True" {
            let at = format!("status.conditions.[{index}].status");
            let text = condition.text("status");
            errors.push(FieldError::not_supported(&Path::new(&at), text, &["True"]));
        }
    }
    conditions(status, &path, errors);
    if errors.len() > known {
        return;
    }
    let is = |status: &Value, answers: &[&str]| {
        let conditions = status.list("conditions").iter();
        conditions
            .filter(|condition| condition.text("status") == "True")
            .any(|condition| answers.contains(&condition.text("type")))
    };
    let others = [
        "certificateChain",
        "notBefore",
        "notAfter",
        "beginRefreshAt",
    ];
    let detail = if is(before, &ANSWERS) {
        if same(status, before) {
            return;
        }
        "immutable after PodCertificateRequest is issued, denied, or failed"
    } else if is(status, &["Denied", "Failed"]) {
        if !others.iter().any(|field| status.has(field)) {
            return;
        }
        "non-condition status fields must be empty when denying or failing the PodCertificateRequest"
    } else if is(status, &["Issued"]) {
        return issued(status, &path, errors);
    } else {
        if same(status, before) {
            return;
        }
        "status is immutable unless transitioning to \"Issued\", \"Denied\", or \"Failed\""
    };
    errors.push(FieldError::invalid_omitted(&path, detail));
}

fn issued(status: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (chain, at) = (
        status.text("certificateChain"),
        path.child("certificateChain"),
    );
    if chain.len() > LARGEST_CHAIN {
        errors.push(FieldError::too_long(&at, LARGEST_CHAIN));
        return;
    }
    let blocks = blocks(chain);
    let mut wrong = |detail: &str| errors.push(FieldError::invalid(&at, chain, detail));
    let Some(leaf) = blocks.first() else {
        return wrong("issued certificate chain must contain at least one certificate");
    };
    if leaf.label != "CERTIFICATE" {
        return wrong("issued certificate chain must consist entirely of CERTIFICATE PEM blocks");
    }
    if parse_x509_certificate(&leaf.content).is_err() {
        return wrong("leaf certificate does not parse as valid X.509");
    }
    let range = "must be present and in the range [notbefore+10min, notafter-10min]";
    let consistent = "must be present and consistent with the issued certificate";
    for (field, detail) in [
        ("notBefore", consistent),
        ("notAfter", consistent),
        ("beginRefreshAt", range),
    ] {
        if !status.has(field) {
            errors.push(FieldError::required(&path.child(field), detail));
        }
    }
}
