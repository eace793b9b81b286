//! What an older version refuses and a newer one allows, and the other way round.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_apimachinery::version::KubernetesVersion::{V1_36, V1_37};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::gates::pod_spec;
use crate::admissionregistration::{static_suffix, webhooks};
use crate::strategy::Findings;

/// A rule that a newer version changed, with the name of the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// `ExcludeAdmissionWebhookVirtualResources`: webhooks see reviews, so that no rule is without effect.
    WebhooksSeeReviews,
    /// `HPAScaleToZero`: an autoscaler has at least one replica, unless it had none before.
    OneReplica,
    /// `ManifestBasedAdmissionControlConfig`: a name ends as it likes.
    AnySuffix,
    /// `RelaxedServiceNameValidation`: the name of a Service begins with a letter.
    NameBeginsWithLetter,
    /// `SELinuxMount`: volumes of pods whose spec is at a path are labelled recursively, unless they were not before.
    OnlyRecursive(&'static [&'static str]),
}

const ADMISSION: &str = "admissionregistration.k8s.io";

/// The rules of a kind that a version still has.
pub(super) fn of(group: &str, kind: &str, version: KubernetesVersion) -> Vec<Rule> {
    let mut rules = Vec::new();
    if version < V1_37 {
        match (group, kind) {
            (ADMISSION, _) => {
                rules.push(Rule::AnySuffix);
                rules.push(Rule::WebhooksSeeReviews);
            }
            ("autoscaling", "HorizontalPodAutoscaler") => rules.push(Rule::OneReplica),
            _ => rules.extend(pod_spec(group, kind).map(Rule::OnlyRecursive)),
        }
    }
    if version < V1_36 && (group, kind) == ("", "Service") {
        rules.push(Rule::NameBeginsWithLetter);
    }
    rules
}

impl Rule {
    /// Checks a new object, or one that was changed.
    pub(super) fn check(self, object: &Value, old: &Value, found: &mut Findings) {
        match self {
            Self::OneReplica => {
                let path = Path::new("spec.minReplicas");
                let least = |object: &Value| object.at("spec").int("minReplicas");
                if let Some(set) = least(object).filter(|least| *least < 1)
                    && least(old) != Some(0)
                {
                    let detail = "must be greater than or equal to 1";
                    replace(found, FieldError::invalid(&path, set, detail).declarative());
                }
            }
            Self::NameBeginsWithLetter if old.is_null() => {
                let path = Path::new("metadata.name");
                let name = object.at("metadata").text("name");
                for problem in names::dns1035_label(name) {
                    replace(found, FieldError::invalid(&path, name, &problem));
                }
            }
            Self::OnlyRecursive(at) => {
                let policy = |object| {
                    let spec = at.iter().fold(object, |part, field| Value::at(part, field));
                    spec.at("securityContext").text("seLinuxChangePolicy")
                };
                let set = policy(object);
                if !matches!(set, "" | "Recursive") && policy(old).is_empty() {
                    let path = format!("{}.securityContext.seLinuxChangePolicy", at.join("."));
                    let error = FieldError::not_supported(&Path::new(&path), set, &["Recursive"]);
                    replace(found, error);
                }
            }
            Self::AnySuffix => found
                .errors
                .retain(|error| !error.to_string().ends_with(static_suffix::DETAIL)),
            Self::NameBeginsWithLetter | Self::WebhooksSeeReviews => {}
        }
    }

    /// Takes back warnings of what is no mistake.
    pub(super) fn warn(self, warnings: &mut Vec<String>) {
        if self == Self::WebhooksSeeReviews {
            warnings.retain(|warning| !warning.ends_with(webhooks::EXCLUDED));
        }
    }
}

/// Puts an error in the place of those about the same field, or last.
fn replace(found: &mut Findings, error: FieldError) {
    let errors = &mut found.errors;
    let is_same = |other: &FieldError| other.field() == error.field();
    let at = errors.iter().position(is_same).unwrap_or(errors.len());
    errors.retain(|other| other.field() != error.field());
    errors.insert(at, error);
}
