//! Certificates that are projected into volumes of pods: those that a pod trusts, and its own.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::paths::local_path;
use super::security::id;
use crate::check::{Errors, problems, required, selector};
use crate::internal::shown;
use crate::signers::{
    longest_expiration, signer_name, signer_of_trust_bundle, trust_bundle_name, user_annotations,
};

const DUPLICATE: &str = "conflicting duplicate paths";
const KEYS: [&str; 6] = [
    "RSA3072",
    "RSA4096",
    "ECDSAP256",
    "ECDSAP384",
    "ECDSAP521",
    "ED25519",
];

/// Certificates that a pod trusts: one bundle, or all that a signer has. `all` are the paths of the volume so far.
pub(super) fn trust_bundle<'a>(
    item: &'a Value,
    path: &Path<'_>,
    volume: &Path<'_>,
    all: &mut Vec<&'a str>,
    errors: &mut Errors,
) {
    let (name, signer) = (item.text("name"), item.text("signerName"));
    let wanted = item.at("labelSelector");
    let at = path.child("labelSelector");
    match (item.has("name"), item.has("signerName")) {
        (true, true) => {
            let value = shown("ClusterTrustBundleProjection", item);
            let detail = "only one of name and signerName may be used";
            errors.push(FieldError::invalid_shown(path, &value, detail));
        }
        (true, false) => {
            let path = path.child("name");
            if name.is_empty() {
                errors.push(FieldError::required(&path, "must be a valid object name"));
            }
            let found = trust_bundle_name(&signer_of_trust_bundle(name), name);
            let found = found
                .iter()
                .map(|problem| format!("not a valid clustertrustbundlename: {problem}"));
            problems(&path, name, found, errors);
            if !wanted.is_null() {
                let value = shown("m.LabelSelector", wanted);
                let detail = "labelSelector must be unset if name is specified";
                errors.push(FieldError::invalid_shown(&at, &value, detail));
            }
        }
        (false, true) => {
            let path = path.child("signerName");
            if signer.is_empty() {
                errors.push(FieldError::required(&path, "must be a valid signer name"));
            }
            signer_name(signer, &path, errors);
            selector(wanted, &at, errors);
        }
        (false, false) => {
            let detail = "either name or signerName must be specified";
            errors.push(FieldError::required(path, detail));
        }
    }
    required(item, path, "path", errors);
    id(item.int("user"), &path.child("user"), errors);
    file(item, "path", path, volume, all, errors);
}

/// The certificate of the pod itself, and its key.
pub(super) fn certificate<'a>(
    item: &'a Value,
    path: &Path<'_>,
    volume: &Path<'_>,
    all: &mut Vec<&'a str>,
    errors: &mut Errors,
) {
    let signer = item.text("signerName");
    signer_name(signer, &path.child("signerName"), errors);
    user_annotations(item, path, "userAnnotations", errors);
    id(item.int("user"), &path.child("user"), errors);
    let key = item.text("keyType");
    if !KEYS.contains(&key) {
        let at = path.child("keyType");
        errors.push(FieldError::not_supported(&at, key, &KEYS));
    }
    if let Some(seconds) = item.int("maxExpirationSeconds") {
        let at = path.child("maxExpirationSeconds");
        let most = longest_expiration(signer);
        if seconds < 3600 {
            let detail = "if provided, maxExpirationSeconds must be >= 3600";
            errors.push(FieldError::invalid(&at, seconds, detail));
        }
        if seconds > most {
            let detail = format!("if provided, maxExpirationSeconds must be <= {most}");
            errors.push(FieldError::invalid(&at, seconds, &detail));
        }
    }
    let mut none = true;
    for field in ["credentialBundlePath", "keyPath", "certificateChainPath"] {
        if !item.text(field).is_empty() {
            none = false;
            file(item, field, path, volume, all, errors);
        }
    }
    if none {
        let detail =
            "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
        errors.push(FieldError::required(path, detail));
    }
}

fn file<'a>(
    item: &'a Value,
    field: &str,
    path: &Path<'_>,
    volume: &Path<'_>,
    all: &mut Vec<&'a str>,
    errors: &mut Errors,
) {
    let file = item.text(field);
    local_path(file, &path.child(field), errors);
    if all.contains(&file) {
        errors.push(FieldError::invalid(volume, file, DUPLICATE));
    }
    all.push(file);
}
