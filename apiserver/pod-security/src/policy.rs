//! What the labels of a namespace ask for.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::level::{Level, LevelVersion, Version};

/// What is enforced, audited and warned of in a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the standards have three modes")]
pub struct Policy {
    /// Pods that violate it are rejected.
    pub enforce: LevelVersion,
    /// Violations are noted in the audit log.
    pub audit: LevelVersion,
    /// Clients are warned of violations.
    pub warn: LevelVersion,
}

impl Policy {
    /// The policy of a namespace with these labels, where this one is the default. What labels do not say well is the
    /// strictest where it is enforced, and nothing elsewhere.
    pub fn of_namespace(&self, labels: &Value) -> (Self, Vec<FieldError>) {
        let mut policy = *self;
        let mut errors = Vec::new();
        let enforced = policy
            .enforce
            .read(&ENFORCE, Level::Restricted, labels, &mut errors);
        policy
            .audit
            .read(&AUDIT, Level::Privileged, labels, &mut errors);
        policy
            .warn
            .read(&WARN, Level::Privileged, labels, &mut errors);
        // Who is refused by a level shall be warned of it where pods are made of templates.
        if let Some(enforced) = enforced
            && !labels.has(WARN.level)
            && enforced > policy.warn.level
        {
            policy.warn.level = enforced;
            if !labels.has(WARN.version) {
                policy.warn.version = policy.enforce.version;
            }
        }
        (policy, errors)
    }

    /// Whether there is nothing to check.
    pub fn is_privileged(&self) -> bool {
        let modes = [self.enforce, self.audit, self.warn];
        modes.iter().all(|mode| mode.level == Level::Privileged)
    }

    /// Whether pods are treated as with another policy.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        let modes = |policy: &Self| [policy.enforce, policy.audit, policy.warn];
        let mut both = modes(self).into_iter().zip(modes(other));
        both.all(|(own, other)| {
            let levels = [own.level, other.level];
            own == other || levels == [Level::Privileged, Level::Privileged]
        })
    }
}

/// The labels of one mode.
pub(crate) struct Mode {
    pub(crate) level: &'static str,
    pub(crate) version: &'static str,
}

pub(crate) const ENFORCE: Mode = Mode {
    level: "pod-security.kubernetes.io/enforce",
    version: "pod-security.kubernetes.io/enforce-version",
};

pub(crate) const AUDIT: Mode = Mode {
    level: "pod-security.kubernetes.io/audit",
    version: "pod-security.kubernetes.io/audit-version",
};

pub(crate) const WARN: Mode = Mode {
    level: "pod-security.kubernetes.io/warn",
    version: "pod-security.kubernetes.io/warn-version",
};

impl LevelVersion {
    /// Takes what the labels of a mode say. Returns the level, if there is a label that says it well.
    fn read(
        &mut self,
        mode: &Mode,
        otherwise: Level,
        labels: &Value,
        errors: &mut Vec<FieldError>,
    ) -> Option<Level> {
        let mut wrong = |label: &str, text: &str, detail: &str| {
            let path = Path::new("metadata.labels");
            errors.push(FieldError::invalid(&path.key(label), text, detail));
        };
        let mut said = None;
        if let Some(text) = labels.at(mode.level).as_str() {
            said = Level::parse(text);
            self.level = said.unwrap_or(otherwise);
            if said.is_none() {
                let detail = "must be one of privileged, baseline, restricted";
                wrong(mode.level, text, detail);
            }
        }
        if let Some(text) = labels.at(mode.version).as_str() {
            let version = Version::parse(text);
            self.version = version.unwrap_or_default();
            if version.is_none() {
                wrong(mode.version, text, "must be \"latest\" or \"v1.x\"");
            }
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn policy(labels: &[(&str, &str)]) -> (String, Vec<String>) {
        let labels = labels.iter();
        let labels = labels.map(|(mode, value)| {
            let label = format!("pod-security.kubernetes.io/{mode}");
            (label, json!(value))
        });
        let labels = Value::Object(labels.collect::<Map<_, _>>());
        let (policy, errors) = Policy::default().of_namespace(&labels);
        let Policy {
            enforce,
            audit,
            warn,
        } = policy;
        let errors = errors.iter().map(ToString::to_string).collect();
        (format!("{enforce} {audit} {warn}"), errors)
    }

    #[test]
    fn warnings_are_as_strict_as_what_is_enforced_unless_a_label_says_otherwise() {
        let shown = |labels| policy(labels).0;
        assert_eq!(
            shown(&[("enforce", "baseline"), ("enforce-version", "v1.20")]),
            "baseline:v1.20 privileged:latest baseline:v1.20"
        );
        assert_eq!(
            shown(&[
                ("enforce", "baseline"),
                ("enforce-version", "v1.20"),
                ("warn-version", "v1.21")
            ]),
            "baseline:v1.20 privileged:latest baseline:v1.21"
        );
        assert_eq!(
            shown(&[("enforce", "restricted"), ("warn", "baseline")]),
            "restricted:latest privileged:latest baseline:latest"
        );
    }

    #[test]
    fn what_labels_do_not_say_well_is_restricted_where_it_is_enforced() {
        let (shown, errors) = policy(&[("warn", "x"), ("enforce", "x"), ("enforce-version", "1")]);
        assert_eq!(
            shown,
            "restricted:latest privileged:latest privileged:latest"
        );
        assert_eq!(
            errors,
            [
                r#"metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "x": must be one of privileged, baseline, restricted"#,
                r#"metadata.labels[pod-security.kubernetes.io/enforce-version]: Invalid value: "1": must be "latest" or "v1.x""#,
                r#"metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: "x": must be one of privileged, baseline, restricted"#,
            ]
        );
    }
}
