//! The configuration of the plugin: what holds without labels, and who is exempt.

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::level::{Level, LevelVersion};
use crate::policy::{AUDIT, ENFORCE, Mode, Policy, WARN};

/// A `PodSecurityConfiguration`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the fields of the real configuration"
)]
pub struct Configuration {
    /// The policy of a namespace without labels.
    pub defaults: Policy,
    /// What is not checked.
    pub exemptions: Exemptions,
}

/// What is not checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the fields of the real configuration"
)]
pub struct Exemptions {
    /// Requests of these users.
    pub usernames: Vec<String>,
    /// Pods in these namespaces.
    pub namespaces: Vec<String>,
    /// Pods of these runtime classes.
    pub runtime_classes: Vec<String>,
}

impl Exemptions {
    /// Whether pods of a namespace are exempt.
    pub fn has_namespace(&self, name: &str) -> bool {
        !name.is_empty() && self.namespaces.iter().any(|exempt| exempt == name)
    }

    /// Whether requests of a user are exempt.
    pub fn has_user(&self, name: &str) -> bool {
        !name.is_empty() && self.usernames.iter().any(|exempt| exempt == name)
    }

    /// Whether a pod is exempt by its runtime class.
    pub fn has_runtime_class(&self, spec: &Value) -> bool {
        let name = spec.text("runtimeClassName");
        !name.is_empty() && self.runtime_classes.iter().any(|exempt| exempt == name)
    }
}

impl Configuration {
    /// The warning that labels of an exempt namespace have no effect.
    pub fn warning_of_exempt_namespace(
        &self,
        name: &str,
        policy: &Policy,
        labels: &Value,
    ) -> Option<String> {
        if policy.is_privileged() || policy.is_equivalent(&self.defaults) {
            return None;
        }
        let said = |name: &str, mode: &Mode, of: LevelVersion| {
            let is_labelled = labels.has(mode.level) || labels.has(mode.version);
            (of.level != Level::Privileged && is_labelled).then(|| format!("{name}={of}"))
        };
        let modes = [
            said("enforce", &ENFORCE, policy.enforce),
            said("audit", &AUDIT, policy.audit),
            said("warn", &WARN, policy.warn),
        ];
        let modes: Vec<String> = modes.into_iter().flatten().collect();
        Some(format!(
            "namespace {} is exempt from Pod Security, and the policy ({}) will be ignored",
            quoted(name),
            modes.join(", ")
        ))
    }
}
