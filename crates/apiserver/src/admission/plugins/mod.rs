//! The plugins that are part of the server, in their order, before the webhooks.
//!
//! ServiceAccount is off unless it is enabled, as in envtest. Of the real server's default set are not here: LimitRanger and
//! ResourceQuota (limits and quotas are stored with a warning), the certificate plugins, PodTopologyLabels. PodSecurity
//! warns that it does not judge where a namespace asks for it.

mod default_ingress_class;
mod default_storage_class;
mod default_toleration_seconds;
mod namespace_lifecycle;
mod persistent_volume_claim_resize;
mod pod_security;
mod priority;
mod runtime_class;
mod selection;
mod service_account;
mod storage_object_in_use_protection;
mod taint_nodes_by_condition;
mod without_effect;

pub(crate) use without_effect::{refuse, refuse_new};

use std::sync::Arc;

use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use super::attributes::{Attributes, Operation};
use super::cluster::Cluster;
use super::notes::Notes;
pub(crate) use selection::Enabled;
pub use selection::{AdmissionPlugin, UnknownAdmissionPlugin};

/// The plugins, and what they remember between requests.
#[derive(Debug)]
pub(super) struct Plugins {
    enabled: Enabled,
    default_priority: priority::DefaultClass,
}

impl Plugins {
    pub(super) fn new(enabled: Enabled) -> Self {
        Self {
            enabled,
            default_priority: priority::DefaultClass::default(),
        }
    }

    /// Whether a plugin runs.
    pub(super) fn has(&self, plugin: AdmissionPlugin) -> bool {
        self.enabled.has(plugin)
    }

    /// Runs the plugins that may change the object.
    ///
    /// # Cancel safety
    /// Dropping the future may leave the changes of some plugins in `attributes`.
    pub(super) async fn mutate(
        &self,
        cluster: &dyn Cluster,
        attributes: &mut Attributes,
    ) -> Result<()> {
        use AdmissionPlugin as Plugin;
        if self.has(Plugin::NamespaceLifecycle) {
            namespace_lifecycle::admit(cluster, attributes)?;
        }
        if self.has(Plugin::ServiceAccount) {
            service_account::admit(cluster, attributes).await?;
        }
        if self.has(Plugin::TaintNodesByCondition) {
            taint_nodes_by_condition::admit(attributes);
        }
        if self.has(Plugin::Priority) {
            priority::admit(&self.default_priority, cluster, attributes)?;
        }
        if self.has(Plugin::DefaultTolerationSeconds) {
            default_toleration_seconds::admit(attributes);
        }
        if self.has(Plugin::DefaultStorageClass) {
            default_storage_class::admit(cluster, attributes);
        }
        if self.has(Plugin::StorageObjectInUseProtection) {
            storage_object_in_use_protection::admit(attributes);
        }
        if self.has(Plugin::RuntimeClass) {
            runtime_class::admit(cluster, attributes)?;
        }
        if self.has(Plugin::DefaultIngressClass) {
            default_ingress_class::admit(cluster, attributes);
        }
        Ok(())
    }

    /// Runs the plugins that judge the final object.
    pub(super) fn validate(
        &self,
        cluster: &dyn Cluster,
        attributes: &Attributes,
        notes: &Notes,
    ) -> Result<()> {
        use AdmissionPlugin as Plugin;
        without_effect::warn(attributes, notes);
        if self.has(Plugin::ServiceAccount) {
            service_account::validate(cluster, attributes)?;
        }
        if self.has(Plugin::PodSecurity) {
            pod_security::validate(cluster, attributes, notes);
        }
        if self.has(Plugin::Priority) {
            priority::validate(cluster, attributes)?;
        }
        if self.has(Plugin::PersistentVolumeClaimResize) {
            persistent_volume_claim_resize::validate(cluster, attributes)?;
        }
        if self.has(Plugin::RuntimeClass) {
            runtime_class::validate(cluster, attributes)?;
        }
        Ok(())
    }
}

/// 403 with the best name that is known: the request's, the object's, its generateName, `Unknown`.
fn forbidden(attributes: &Attributes, why: &str) -> Status {
    let resource = &attributes.resource;
    Status::forbidden(
        &resource.group,
        &resource.plural,
        shown_name(attributes),
        why,
    )
}

fn shown_name(attributes: &Attributes) -> &str {
    let metadata = attributes.object.at("metadata");
    [
        attributes.name.as_str(),
        metadata.text("name"),
        metadata.text("generateName"),
    ]
    .into_iter()
    .find(|name| !name.is_empty())
    .unwrap_or("Unknown")
}

/// Whether the request is about objects of this group and plural themselves, not about a part of them.
fn is_about(attributes: &Attributes, group: &str, plural: &str) -> bool {
    attributes.subresource.is_empty()
        && attributes.resource.group == group
        && attributes.resource.plural == plural
}

fn creates(attributes: &Attributes, group: &str, plural: &str) -> bool {
    attributes.operation == Operation::Create && is_about(attributes, group, plural)
}

/// The class that an annotation marks as the default: of several, the newest, then the first by name.
fn default_class(
    cluster: &dyn Cluster,
    group: &str,
    plural: &str,
    marks: &[&str],
) -> Option<Arc<Value>> {
    let is_default = |class: &Arc<Value>| {
        let annotations = class.at("metadata").at("annotations");
        marks.iter().any(|mark| annotations.text(mark) == "true")
    };
    let mut found: Vec<_> = cluster
        .list(group, plural, "")
        .into_iter()
        .filter(is_default)
        .collect();
    found.sort_by(|a, b| {
        let created = |class: &Value| class.at("metadata").text("creationTimestamp").to_owned();
        let name = |class: &Value| class.at("metadata").text("name").to_owned();
        created(b)
            .cmp(&created(a))
            .then_with(|| name(a).cmp(&name(b)))
    });
    found.into_iter().next()
}

#[cfg(test)]
mod tests;
