//! Protected groups, which belong to the Kubernetes community: an annotation of the definition records the approval (KEP-1111).

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::view::View;
use kubewright_validation::check::Errors;
use serde_json::Value;

const ANNOTATION: &str = "api-approved.kubernetes.io";

/// State of the approval annotation of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approval {
    Missing,
    Invalid,
    Approved,
    Bypassed,
}

/// Whether a group is a protected one.
pub(crate) fn is_protected(group: &str) -> bool {
    let under = |root: &str| group == root || group.ends_with(&format!(".{root}"));
    under("k8s.io") || under("kubernetes.io")
}

/// Returns the state of the annotation, and a message that explains it.
pub(crate) fn approval(definition: &Value) -> (Approval, String) {
    let annotations = definition.at("metadata").at("annotations");
    let text = annotations.text(ANNOTATION);
    if text.is_empty() {
        let why = format!(
            "protected groups must have approval annotation {}, see https://github.com/kubernetes/enhancements/pull/1111",
            quoted(ANNOTATION)
        );
        return (Approval::Missing, why);
    }
    if text.starts_with("unapproved") {
        let why = format!("not approved: {}", quoted(text));
        return (Approval::Bypassed, why);
    }
    let is_url = text.split_once("://").is_some_and(|(scheme, rest)| {
        !scheme.is_empty() && !rest.split('/').next().unwrap_or_default().is_empty()
    });
    if is_url {
        return (Approval::Approved, format!("approved in {text}"));
    }
    let why = format!(
        "protected groups must have approval annotation {} with either a URL or a reason starting with \"unapproved\", see \
         https://github.com/kubernetes/enhancements/pull/1111",
        quoted(ANNOTATION)
    );
    (Approval::Invalid, why)
}

/// Rejects a definition in a protected group without a valid approval annotation, unless the state of the annotation is
/// unchanged.
pub(super) fn check(new: &Value, old: &Value, errors: &mut Errors) {
    if !is_protected(new.at("spec").text("group")) {
        return;
    }
    let (state, why) = approval(new);
    if !old.is_null() && approval(old).0 == state {
        return;
    }
    let path = Path::new("metadata.annotations");
    let path = path.key(ANNOTATION);
    match state {
        Approval::Missing => errors.push(FieldError::required(&path, &why)),
        Approval::Invalid => {
            let text = new.at("metadata").at("annotations").text(ANNOTATION);
            errors.push(FieldError::invalid(&path, text, &why));
        }
        Approval::Approved | Approval::Bypassed => {}
    }
}
