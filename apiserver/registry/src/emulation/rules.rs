//! What an older version refuses and a newer one allows, and the other way round.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_apimachinery::version::KubernetesVersion::{V1_36, V1_37};
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::gates::pod_spec;
use super::older_rules::{self, replace};
use crate::admissionregistration::{static_suffix, webhooks};
use crate::batch;
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
    /// `SELinuxMount`: volumes of pods whose spec is at a path are labelled recursively, unless they were not before.
    OnlyRecursive(&'static [&'static str]),
    /// `RestartAllContainersOnContainerExits`: rules of a container's end start that container again.
    OnlyRestart(&'static [&'static str]),
    /// `InPlacePodLevelResourcesVerticalScaling`: the resources of a whole pod are not resized.
    NoResizeOfPod,
    /// `MutableSchedulingDirectivesForSuspendedJobs`, `MutablePodResourcesForSuspendedJobs`: where pods shall run is open until
    /// a job starts, and how much they get is not.
    OpenUntilStarted,
    /// `DRAConsumableCapacity`: a constraint matches an attribute, and no device is shared.
    UnsharedDevices,
    /// `StrictIPCIDRValidation`: addresses of fields that are older than the strict rules are written as they were.
    LooseAddresses,
    /// Not of a gate: slices of resources count a change before its fields of closed gates are dropped.
    CountsDropped,
    /// `DeclarativeValidationBeta`: errors are those of handwritten validation.
    Handwritten,
}

const ADMISSION: &str = "admissionregistration.k8s.io";

/// The rules of a kind that a version still has, in the order in which they are applied.
pub(super) fn of(group: &str, kind: &str, version: KubernetesVersion) -> Vec<Rule> {
    let mut rules = Vec::new();
    let of_pods = pod_spec(group, kind);
    if version < V1_37 {
        match (group, kind) {
            (ADMISSION, _) => {
                rules.push(Rule::AnySuffix);
                rules.push(Rule::WebhooksSeeReviews);
            }
            ("autoscaling", "HorizontalPodAutoscaler") => rules.push(Rule::OneReplica),
            _ => rules.extend(of_pods.map(Rule::OnlyRecursive)),
        }
    }
    if version < V1_36 {
        rules.extend(of_pods.map(Rule::OnlyRestart));
        match (group, kind) {
            ("", "Pod") => rules.push(Rule::NoResizeOfPod),
            ("batch", "Job") => rules.push(Rule::OpenUntilStarted),
            ("resource.k8s.io", "ResourceSlice") => {
                rules.extend([Rule::UnsharedDevices, Rule::CountsDropped]);
            }
            ("resource.k8s.io", _) => rules.push(Rule::UnsharedDevices),
            _ => {}
        }
        if !matches!(kind, "IPAddress" | "ServiceCIDR") {
            rules.push(Rule::LooseAddresses);
        }
        rules.push(Rule::Handwritten);
    }
    rules
}

impl Rule {
    /// Checks a new object, or one that was changed.
    pub(super) fn check(self, object: &Value, old: &Value, found: &mut Findings) {
        if let Self::OnlyRecursive(at) | Self::OnlyRestart(at) = self
            && older_rules::is_unchecked(at, found)
        {
            return;
        }
        match self {
            Self::OneReplica => {
                let path = Path::new("spec.minReplicas");
                let least = |object: &Value| object.at("spec").int("minReplicas");
                if let Some(set) = least(object).filter(|least| *least < 1)
                    && least(old) != Some(0)
                {
                    let detail = "must be greater than or equal to 1";
                    let error = FieldError::invalid(&path, set, detail).declarative();
                    let is_of_spec = |other: &FieldError| other.field().starts_with("spec.");
                    let errors = &mut found.errors;
                    let at = errors.iter().position(is_of_spec);
                    errors.insert(at.unwrap_or(errors.len()), error.clone());
                    replace(found, error);
                }
            }
            Self::OnlyRecursive(at) => {
                let policy = |object| {
                    let spec = at.iter().fold(object, |part, field| Value::at(part, field));
                    spec.at("securityContext")
                        .at("seLinuxChangePolicy")
                        .as_str()
                };
                if let Some(set) = policy(object).filter(|set| *set != "Recursive")
                    && policy(old).is_none()
                {
                    let path = format!("{}.securityContext.seLinuxChangePolicy", at.join("."));
                    let error = FieldError::not_supported(&Path::new(&path), set, &["Recursive"]);
                    replace(found, error);
                }
            }
            Self::AnySuffix => found
                .errors
                .retain(|error| !error.to_string().ends_with(static_suffix::DETAIL)),
            Self::OnlyRestart(at) => older_rules::only_restart(at, object, old, found),
            Self::OpenUntilStarted if !old.is_null() => {
                batch::validation::template_until_started(object, old, &mut found.errors);
            }
            Self::UnsharedDevices => older_rules::unshared(object, old, found),
            Self::LooseAddresses => {
                // The addresses of this type were never loose.
                if object.text("addressType") != "IPv6" {
                    found.errors.retain(|error| !older_rules::is_strict(error));
                }
            }
            Self::Handwritten => {
                let errors = std::mem::take(&mut found.errors);
                found.errors = errors
                    .into_iter()
                    .filter_map(FieldError::handwritten)
                    .collect();
            }
            Self::NoResizeOfPod
            | Self::CountsDropped
            | Self::OpenUntilStarted
            | Self::WebhooksSeeReviews => {}
        }
    }

    /// Takes out of a change what is no part of it.
    pub(super) fn prepare(self, subresource: &str, new: &mut Value, old: &Value) {
        if self == Self::NoResizeOfPod
            && subresource == "resize"
            && let Some(spec) = new.existing("spec")
        {
            spec.take_from(old.at("spec"), "resources");
        }
    }

    /// Takes back warnings of what is no mistake.
    pub(super) fn warn(self, warnings: &mut Vec<String>) {
        if self == Self::WebhooksSeeReviews {
            warnings.retain(|warning| !warning.ends_with(webhooks::EXCLUDED));
        }
    }
}
