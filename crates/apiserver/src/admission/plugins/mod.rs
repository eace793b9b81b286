//! The plugins that are part of the server, in their order, before the webhooks.
//!
//! Those of the real server's default set that are not here: ServiceAccount (off, as in envtest), LimitRanger and
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
mod storage_object_in_use_protection;
mod taint_nodes_by_condition;
mod without_effect;

use std::sync::Arc;

use serde_json::Value;

use super::attributes::{Attributes, Operation};
use super::cluster::Cluster;
use super::notes::Notes;
use crate::kinds::view::View as _;
use crate::status::{Result, Status};

/// The plugins, and what they remember between requests.
#[derive(Debug, Default)]
pub(super) struct Plugins {
    default_priority: priority::DefaultClass,
}

impl Plugins {
    /// Runs the plugins that may change the object.
    pub(super) fn mutate(&self, cluster: &dyn Cluster, attributes: &mut Attributes) -> Result<()> {
        namespace_lifecycle::admit(cluster, attributes)?;
        taint_nodes_by_condition::admit(attributes);
        priority::admit(&self.default_priority, cluster, attributes)?;
        default_toleration_seconds::admit(attributes);
        default_storage_class::admit(cluster, attributes);
        storage_object_in_use_protection::admit(attributes);
        runtime_class::admit(cluster, attributes)?;
        default_ingress_class::admit(cluster, attributes);
        Ok(())
    }
}

/// Runs the plugins that judge the final object.
pub(super) fn validate(
    cluster: &dyn Cluster,
    attributes: &Attributes,
    notes: &Notes,
) -> Result<()> {
    without_effect::validate(attributes, notes);
    pod_security::validate(cluster, attributes, notes);
    priority::validate(cluster, attributes)?;
    persistent_volume_claim_resize::validate(cluster, attributes)
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
