//! PodSecurity: pods that violate what their namespace enforces are rejected; clients are warned of other violations.

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::View as _;
use kubewright_pod_security::{
    Configuration, Level as Strictness, LevelVersion, Pod, Policy, has_template,
    is_significant_update, template_of, violations, warnings_of_pods,
};
use serde_json::Value;

use super::subject::forbidden;
use crate::attributes::{Attributes, Operation};
use crate::cluster::Cluster;
use crate::level::Level;
use crate::notes::Notes;

pub(super) fn validate(
    configuration: &Configuration,
    cluster: &dyn Cluster,
    attributes: &Attributes,
    notes: &Notes,
) -> Result<()> {
    let request = Evaluation {
        configuration,
        cluster,
        attributes,
        notes,
    };
    let updates = match attributes.operation {
        Operation::Create => false,
        Operation::Update => true,
        Operation::Delete | Operation::Connect => return Ok(()),
    };
    let (group, plural) = (&attributes.resource.group, &attributes.resource.plural);
    let is_core = group.is_empty();
    if is_core && plural == "pods" {
        return request.of_pod(updates);
    }
    if !attributes.subresource.is_empty() {
        return Ok(());
    }
    if is_core && plural == "namespaces" {
        return request.of_namespace(updates);
    }
    if has_template(group, plural) {
        request.of_template();
    }
    Ok(())
}

/// The evaluation of one request.
struct Evaluation<'a> {
    configuration: &'a Configuration,
    cluster: &'a dyn Cluster,
    attributes: &'a Attributes,
    notes: &'a Notes,
}

impl Evaluation<'_> {
    fn of_pod(&self, updates: bool) -> Result<()> {
        let attributes = self.attributes;
        let is_ignored = matches!(
            attributes.subresource.as_str(),
            "exec" | "attach" | "binding" | "eviction" | "log" | "portforward" | "proxy" | "status"
        );
        if is_ignored || self.is_exempt() {
            return Ok(());
        }
        let name = attributes.namespace.as_str();
        let namespace = self.cluster.get("", "namespaces", "", name);
        let Some(namespace) = namespace else {
            let why = format!("failed to lookup namespace {}", quoted(name));
            self.annotate("error", || {
                format!(
                    "Internal error occurred: {why}: namespaces {} not found",
                    quoted(name)
                )
            });
            return Err(Status::internal(&why));
        };
        let (policy, errors) = self.policy_of(&namespace);
        if errors.is_none() && policy.is_privileged() {
            let privileged = LevelVersion::default();
            self.annotate("enforce-policy", || privileged.to_string());
            return Ok(());
        }
        let pod = &attributes.object;
        if updates && !is_significant_update(pod, &attributes.old_object) {
            return Ok(());
        }
        let pod = Pod::new(pod.at("metadata"), pod.at("spec"));
        self.evaluate(&policy, errors, &pod, true)
    }

    /// Workloads are never rejected: their pods are.
    fn of_template(&self) {
        let attributes = self.attributes;
        if self.is_exempt() {
            return;
        }
        let name = attributes.namespace.as_str();
        let Some(namespace) = self.cluster.get("", "namespaces", "", name) else {
            return;
        };
        let (policy, errors) = self.policy_of(&namespace);
        let is_free = |mode: LevelVersion| mode.level == Strictness::Privileged;
        if errors.is_none() && is_free(policy.warn) && is_free(policy.audit) {
            return;
        }
        let (group, plural) = (&attributes.resource.group, &attributes.resource.plural);
        if let Some(template) = template_of(group, plural, &attributes.object) {
            // Only what is enforced is an error.
            drop(self.evaluate(&policy, errors, &template, false));
        }
    }

    fn of_namespace(&self, updates: bool) -> Result<()> {
        let attributes = self.attributes;
        let labels = |namespace: &Value| namespace.at("metadata").at("labels").clone();
        let new_labels = labels(&attributes.object);
        let (new, errors) = self.configuration.defaults.of_namespace(&new_labels);
        let (old, known) = if updates {
            let old_labels = labels(&attributes.old_object);
            self.configuration.defaults.of_namespace(&old_labels)
        } else {
            Default::default()
        };
        if !errors.is_empty() && (!updates || errors != known) {
            let (group, kind) = (&attributes.kind.group, &attributes.kind.kind);
            return Err(Status::invalid(group, kind, &attributes.name, &errors));
        }
        let is_milder =
            new.enforce.version == old.enforce.version && new.enforce.level <= old.enforce.level;
        if updates
            && (new.enforce == old.enforce
                || new.enforce.level == Strictness::Privileged
                || is_milder)
        {
            return Ok(());
        }
        let name = attributes.namespace.as_str();
        let exemptions = &self.configuration.exemptions;
        if exemptions.has_namespace(name) {
            let warning = self
                .configuration
                .warning_of_exempt_namespace(name, &new, &new_labels);
            if let Some(warning) = warning {
                self.notes.warn(&warning);
            }
        } else if updates {
            let newest = self.cluster.registry().version().minor();
            let pods = self.cluster.list("", "pods", name);
            let pods = pods.iter().map(|pod| &**pod);
            for warning in warnings_of_pods(name, new.enforce, newest, pods, exemptions) {
                self.notes.warn(&warning);
            }
        }
        Ok(())
    }

    fn is_exempt(&self) -> bool {
        let exemptions = &self.configuration.exemptions;
        let by = if exemptions.has_namespace(&self.attributes.namespace) {
            "namespace"
        } else if exemptions.has_user(&self.attributes.user.username) {
            "user"
        } else {
            return false;
        };
        self.annotate("exempt", || by.to_owned());
        true
    }

    /// The policy of a namespace, and what is wrong with its labels.
    fn policy_of(&self, namespace: &Value) -> (Policy, Option<String>) {
        let labels = namespace.at("metadata").at("labels");
        let (policy, errors) = self.configuration.defaults.of_namespace(labels);
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let joined = match errors.len() {
            0 => None,
            1 => errors.into_iter().next(),
            _ => Some(format!("[{}]", errors.join(", "))),
        };
        (policy, joined)
    }

    fn evaluate(
        &self,
        policy: &Policy,
        errors: Option<String>,
        pod: &Pod<'_>,
        enforces: bool,
    ) -> Result<()> {
        if self.configuration.exemptions.has_runtime_class(pod.spec()) {
            self.annotate("exempt", || "runtimeClass".to_owned());
            return Ok(());
        }
        if let Some(errors) = errors {
            self.annotate("error", || format!("Failed to parse policy: {errors}"));
        }
        let newest = self.cluster.registry().version().minor();
        let mut outcome = Ok(());
        if enforces {
            let enforced = policy.enforce.to_string();
            let found = violations(policy.enforce, newest, pod);
            if !found.is_empty() {
                let (enforced, detail) = (quoted(&enforced), found.detail());
                let why = format!("violates PodSecurity {enforced}: {detail}");
                outcome = Err(forbidden(self.attributes, &why));
            }
            self.annotate("enforce-policy", || enforced);
        }
        let would_violate = |mode: LevelVersion| {
            let found = violations(mode, newest, pod);
            (!found.is_empty()).then(|| {
                let (mode, detail) = (quoted(&mode.to_string()), found.detail());
                format!("would violate PodSecurity {mode}: {detail}")
            })
        };
        if self.notes.keeps(Level::Metadata)
            && let Some(found) = would_violate(policy.audit)
        {
            self.annotate("audit-violations", || found);
        }
        if outcome.is_ok()
            && let Some(warning) = would_violate(policy.warn)
        {
            self.notes.warn(&warning);
        }
        outcome
    }

    fn annotate(&self, key: &str, value: impl FnOnce() -> String) {
        if self.notes.keeps(Level::Metadata) {
            let key = format!("pod-security.kubernetes.io/{key}");
            self.notes.annotate(&key, value());
        }
    }
}

#[cfg(test)]
mod tests;
