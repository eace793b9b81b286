//! Certificates in objects: bundles of those that clients trust, and requests for the certificates of pods.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::Value;
use x509_parser::certificate::X509Certificate;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

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
        return issued(old.at("spec"), status, &path, errors);
    } else {
        if same(status, before) {
            return;
        }
        "status is immutable unless transitioning to \"Issued\", \"Denied\", or \"Failed\""
    };
    errors.push(FieldError::invalid_omitted(&path, detail));
}

/// What comes with a certificate: it is of the key that was asked for, and its times are as the status says.
fn issued(spec: &Value, status: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (chain, at) = (
        status.text("certificateChain"),
        path.child("certificateChain"),
    );
    if chain.len() > LARGEST_CHAIN {
        errors.push(FieldError::too_long(&at, LARGEST_CHAIN));
        return;
    }
    let blocks = blocks(chain);
    let wrong = |detail: &str| FieldError::invalid(&at, chain, detail);
    let Some(leaf) = blocks.first() else {
        let detail = "issued certificate chain must contain at least one certificate";
        return errors.push(wrong(detail));
    };
    if leaf.label != "CERTIFICATE" {
        let detail = "issued certificate chain must consist entirely of CERTIFICATE PEM blocks";
        return errors.push(wrong(detail));
    }
    let Ok(([], leaf)) = parse_x509_certificate(&leaf.content) else {
        return errors.push(wrong("leaf certificate does not parse as valid X.509"));
    };
    names_of(&leaf, &at, errors);
    if !is_of_key(&leaf, spec) {
        let detail = "leaf certificate was not issued to the requested public key";
        return errors.push(wrong(detail));
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
    if !errors.is_empty() {
        return;
    }
    if let Err(error) = times(&leaf, spec, status, path) {
        return errors.push(error);
    }
    for block in &blocks[1..] {
        if block.label != "CERTIFICATE" {
            // Upstream's own spelling.
            let detail = "issued certificate chain must consist entirely of CERTFICATE PEM blocks";
            return errors.push(wrong(detail));
        }
        if parse_x509_certificate(&block.content).is_err() {
            let detail = "intermediate certificate does not parse as valid X.509";
            return errors.push(wrong(detail));
        }
    }
}

fn names_of(leaf: &X509Certificate<'_>, path: &Path<'_>, errors: &mut Errors) {
    let Ok(Some(names)) = leaf.subject_alternative_name() else {
        return;
    };
    let names = &names.value.general_names;
    for name in names {
        let GeneralName::DNSName(name) = name else {
            continue;
        };
        for (is_wrong, detail) in [
            (
                name.is_empty(),
                "leaf certificate should not contain empty DNSName",
            ),
            (
                name.contains(".."),
                "leaf certificate's DNSName should not contain '..'",
            ),
            (
                name.starts_with('.') || name.ends_with('.'),
                "leaf certificate's DNSName should not start or end with '.'",
            ),
        ] {
            if is_wrong {
                errors.push(FieldError::invalid(path, *name, detail));
            }
        }
    }
    for name in names {
        if let GeneralName::RFC822Name(name) = name
            && !is_address(name)
        {
            let detail = "leaf certificate should not contain invalid EmailAddress";
            errors.push(FieldError::invalid(path, *name, detail));
        }
    }
}

/// Whether a text is the address of a mailbox: words between dots before the `@`, and labels between dots after it.
fn is_address(text: &str) -> bool {
    let is_word = |word: &str| {
        let is_known = |byte: u8| {
            byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte) || byte >= 0x80
        };
        !word.is_empty() && word.bytes().all(is_known)
    };
    text.rsplit_once('@')
        .is_some_and(|(user, host)| user.split('.').all(is_word) && host.split('.').all(is_word))
}

/// Whether the certificate is of the key that the request was made with.
fn is_of_key(leaf: &X509Certificate<'_>, spec: &Value) -> bool {
    let bytes = |field: &str| STANDARD.decode(spec.text(field)).unwrap_or_default();
    let (stub, key) = (bytes("stubPKCS10Request"), bytes("pkixPublicKey"));
    let own = leaf.public_key();
    let is_own = |key: &SubjectPublicKeyInfo<'_>| {
        key.algorithm.algorithm == own.algorithm.algorithm
            && key.subject_public_key.data == own.subject_public_key.data
    };
    if let Ok((_, request)) = X509CertificationRequest::from_der(&stub) {
        return is_own(&request.certification_request_info.subject_pki);
    }
    SubjectPublicKeyInfo::from_der(&key).is_ok_and(|(_, key)| is_own(&key))
}

/// The times in the status are those of the certificate, which begins now, and leave time to renew it.
fn times(
    leaf: &X509Certificate<'_>,
    spec: &Value,
    status: &Value,
    path: &Path<'_>,
) -> Result<(), FieldError> {
    const SKEW: i64 = 5 * 60;
    const MARGIN: i64 = 10 * 60;
    let said = |field: &str| -> i64 {
        let time: Option<jiff::Timestamp> = status.text(field).parse().ok();
        time.map_or(0, jiff::Timestamp::as_second)
    };
    let refuse = |field: &str, detail: &str| {
        let at = path.child(field);
        Err(FieldError::invalid(&at, status.at(field).clone(), detail))
    };
    let validity = leaf.validity();
    let (begins, ends) = (
        validity.not_before.timestamp(),
        validity.not_after.timestamp(),
    );
    if said("notBefore") != begins {
        let detail = "must be set to the NotBefore time encoded in the leaf certificate";
        return refuse("notBefore", detail);
    }
    if (jiff::Timestamp::now().as_second() - begins).abs() >= SKEW {
        let detail = "must be set to within 5 minutes of kube-apiserver's current time";
        return refuse("notBefore", detail);
    }
    if said("notAfter") != ends {
        let detail = "must be set to the NotAfter time encoded in the leaf certificate";
        return refuse("notAfter", detail);
    }
    let lifetime = ends - begins;
    let longest = spec.int("maxExpirationSeconds").unwrap_or(0);
    let detail = if lifetime < SHORTEST_EXPIRATION {
        "leaf certificate lifetime must be >= 1 hour".to_owned()
    } else {
        format!("leaf certificate lifetime must be <= spec.maxExpirationSeconds ({longest})")
    };
    if !(SHORTEST_EXPIRATION..=longest).contains(&lifetime) {
        let at = path.child("certificateChain");
        let nanoseconds = lifetime.saturating_mul(1_000_000_000);
        return Err(FieldError::invalid(&at, nanoseconds, &detail));
    }
    if said("beginRefreshAt") < begins + MARGIN {
        let detail = "must be at least 10 minutes after status.notBefore";
        return refuse("beginRefreshAt", detail);
    }
    if said("beginRefreshAt") > ends - MARGIN {
        let detail = "must be at least 10 minutes before status.notAfter";
        return refuse("beginRefreshAt", detail);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rcgen::{CertificateParams, KeyPair};
    use serde_json::json;
    use time::OffsetDateTime;

    use super::*;

    const HOUR: i64 = 60 * 60;

    /// What is wrong with a certificate that lasts from now on for so many seconds and is renewed after so many.
    fn wrong_with(lasts: i64, renewed: i64, more: &str) -> Vec<String> {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec!["web.example.com".to_owned()]).expect("names");
        let request = params.serialize_request(&key).expect("a request");
        let begins = Timestamp::now().as_second();
        let at = |second| OffsetDateTime::from_unix_timestamp(second).expect("a time");
        (params.not_before, params.not_after) = (at(begins), at(begins + lasts));
        let chain = params.self_signed(&key).expect("a certificate").pem() + more;
        let text = |second| Timestamp::from_second(second).expect("a time").to_string();
        let spec = json!({
            "stubPKCS10Request": STANDARD.encode(request.der()), "maxExpirationSeconds": 24 * HOUR,
        });
        let status = json!({
            "conditions": [{
                "type": "Issued", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": text(begins),
            }],
            "certificateChain": chain,
            "notBefore": text(begins),
            "notAfter": text(begins + lasts),
            "beginRefreshAt": text(begins + renewed),
        });
        let mut errors = Errors::new();
        let old = json!({"spec": spec, "status": {}});
        pod_certificate_answer(&json!({"spec": spec, "status": status}), &old, &mut errors);
        let told = errors
            .iter()
            .map(|error| format!("{}: {}", error.field(), error.body()));
        told.collect()
    }

    #[test]
    fn a_certificate_lasts_an_hour_and_no_longer_than_was_asked_for() {
        assert_eq!(wrong_with(12 * HOUR, 6 * HOUR, ""), [""; 0]);
        assert_eq!(
            wrong_with(HOUR / 2, HOUR / 4, ""),
            [
                "status.certificateChain: Invalid value: 1800000000000: leaf certificate lifetime must be >= 1 hour"
            ]
        );
        assert_eq!(
            wrong_with(25 * HOUR, HOUR, ""),
            [
                "status.certificateChain: Invalid value: 90000000000000: leaf certificate lifetime must be <= \
              spec.maxExpirationSeconds (86400)"
            ]
        );
    }

    #[test]
    fn a_certificate_is_renewed_neither_at_once_nor_at_its_end() {
        for (renewed, wrong) in [
            (
                599,
                Some("must be at least 10 minutes after status.notBefore"),
            ),
            (600, None),
            (11 * HOUR, None),
            (
                12 * HOUR - 599,
                Some("must be at least 10 minutes before status.notAfter"),
            ),
        ] {
            let found = wrong_with(12 * HOUR, renewed, "");
            let ends = found.iter().map(|found| found.rsplit(": ").next());
            assert_eq!(
                ends.collect::<Vec<_>>(),
                Vec::from_iter(wrong.map(Some)),
                "{renewed}"
            );
        }
    }

    #[test]
    fn what_follows_in_the_chain_are_certificates() {
        let key = "-----BEGIN PRIVATE KEY-----\nYQ==\n-----END PRIVATE KEY-----\n";
        let odd = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n";
        for (more, wrong) in [
            (
                key,
                "issued certificate chain must consist entirely of CERTFICATE PEM blocks",
            ),
            (
                odd,
                "intermediate certificate does not parse as valid X.509",
            ),
        ] {
            let found = wrong_with(12 * HOUR, 6 * HOUR, more);
            assert!(found.len() == 1 && found[0].ends_with(wrong), "{found:?}");
        }
    }
}
