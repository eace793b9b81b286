//! The names of signers of certificates, and what belongs to a signer by its name.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::check::{Errors, problems};

const LONGEST_DOMAIN: usize = 253;

/// A domain, a slash, and a label and a domain with a dot between them.
const LONGEST_SIGNER: usize = LONGEST_DOMAIN + 1 + 63 + 1 + LONGEST_DOMAIN;

/// The name of a signer, a domain and a path: `example.com/signer-name`.
pub fn signer_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let Some((domain, rest)) = name.split_once('/').filter(|(_, rest)| !rest.contains('/')) else {
        errors.push(FieldError::invalid(path, name, detail));
        return;
    };
    if domain.len() > LONGEST_DOMAIN {
        errors.push(FieldError::too_long(path, LONGEST_DOMAIN));
    }
    labels(domain, names::dns1123_label, path, errors);
    if !domain.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        errors.push(FieldError::invalid(path, domain, detail));
    }
    labels(rest, names::dns1123_subdomain, path, errors);
    if name.len() > LONGEST_SIGNER {
        errors.push(FieldError::too_long(path, LONGEST_SIGNER));
    }
}

/// Tells what is wrong with the first label that is none.
fn labels(
    text: &str,
    problems: impl Fn(&str) -> Vec<String>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let wrong = text
        .split('.')
        .map(|label| (label, problems(label)))
        .find(|(_, found)| !found.is_empty());
    let (label, found) = wrong.unwrap_or_default();
    for problem in found {
        let detail = format!("validating label {label:?}: {problem}");
        errors.push(FieldError::invalid(path, text, &detail));
    }
}

/// The most seconds for which a signer may be asked for a certificate: signers of Kubernetes give it for a day.
pub fn longest_expiration(signer: &str) -> i64 {
    const DAY: i64 = 24 * 60 * 60;
    let domain = signer.split('/').next().unwrap_or_default();
    if domain == "kubernetes.io" || domain.ends_with(".kubernetes.io") {
        DAY
    } else {
        91 * DAY
    }
}

/// The name of a bundle of certificates: that of its signer, if it has one, stands before it.
pub fn trust_bundle_name(signer: &str, name: &str) -> Vec<String> {
    if signer.is_empty() {
        if name.contains(':') {
            let problem = "ClusterTrustBundle without signer name must not have \":\" in its name";
            return vec![problem.to_owned()];
        }
        return names::dns1123_subdomain(name);
    }
    let prefix = format!("{}:", signer.replace('/', ":"));
    match name.strip_prefix(&prefix) {
        Some(rest) => names::dns1123_subdomain(rest),
        None => vec![format!(
            "ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"
        )],
    }
}

/// The signer that the name of a bundle names, or nothing.
pub fn signer_of_trust_bundle(name: &str) -> String {
    let signer = name.rsplit_once(':').map_or("", |(signer, _)| signer);
    signer.replace(':', "/")
}

/// What the author of a pod tells a signer: keys with a domain, in letters of any case, and values of any kind.
pub fn user_annotations(holder: &Value, path: &Path<'_>, field: &str, errors: &mut Errors) {
    const LIMIT: usize = 256 * 1024;
    let path = path.child(field);
    let mut size = 0;
    for (key, value) in holder.entries(field) {
        size += key.len() + value.as_str().map_or(0, str::len);
        let key = key.to_lowercase();
        let found = names::qualified_name(&key);
        if key.is_empty() {
            errors.push(FieldError::required(&path, ""));
        } else if found.is_empty() && !key.contains('/') {
            let detail = "must be a domain-prefixed key (such as \"acme.io/foo\")";
            errors.push(FieldError::invalid(&path, key, detail));
        } else {
            problems(&path, &key, found, errors);
        }
    }
    if size > LIMIT {
        errors.push(FieldError::too_long(&path, LIMIT));
    }
}
