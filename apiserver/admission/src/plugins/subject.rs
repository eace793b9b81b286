//! What plugins ask about a request: its object, its name, and the default class that it may need.

use std::sync::Arc;

use kubewright_apimachinery::status::Status;
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::attributes::{Attributes, Operation};
use crate::cluster::Cluster;

/// Returns a 403 with the best name that is known: the request's, the object's, its generateName, `Unknown`.
pub(crate) fn forbidden(attributes: &Attributes, why: &str) -> Status {
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

/// Whether the request is for objects of this group and plural, and not for a sub-resource.
pub(super) fn is_about(attributes: &Attributes, group: &str, plural: &str) -> bool {
    attributes.subresource.is_empty()
        && attributes.resource.group == group
        && attributes.resource.plural == plural
}

pub(super) fn creates(attributes: &Attributes, group: &str, plural: &str) -> bool {
    attributes.operation == Operation::Create && is_about(attributes, group, plural)
}

/// The node of a pod whose specification the request changes.
pub(super) fn changes_pod_on_node(attributes: &Attributes) -> Option<&str> {
    let resource = &attributes.resource;
    let is_pod = resource.group.is_empty() && resource.plural == "pods";
    if !is_pod || attributes.operation != Operation::Update {
        return None;
    }
    let node = attributes.object.at("spec").text("nodeName");
    // The generation counts the changes of the specification.
    let generation = |pod: &Value| pod.at("metadata").int("generation");
    let changes = generation(&attributes.object) != generation(&attributes.old_object);
    Some(node).filter(|node| !node.is_empty() && changes)
}

/// The class that an annotation marks as the default: of several, the newest, then the first by name.
pub(super) fn default_class(
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
