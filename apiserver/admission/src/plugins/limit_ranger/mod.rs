//! LimitRanger: containers without requests and limits get those of their namespace's LimitRanges, and pods and claims
//! outside of the limits are rejected.

mod constraints;
mod defaults;

use kubewright_apimachinery::status::Result;
use kubewright_apimachinery::view::View as _;

use super::remembered::Remembered;
use super::subject::forbidden;
use crate::attributes::{Attributes, Operation};
use crate::cluster::Cluster;

/// The LimitRanges of each namespace.
pub(super) fn limit_ranges() -> Remembered {
    Remembered::new("", "limitranges")
}

/// Gives the containers of a pod the defaults of every LimitRange.
pub(super) fn admit(ranges: &Remembered, cluster: &dyn Cluster, attributes: &mut Attributes) {
    if !is_limited(attributes) || attributes.resource.plural != "pods" {
        return;
    }
    for range in &*ranges.of(cluster, &attributes.namespace) {
        defaults::apply(range, &mut attributes.object);
    }
}

/// Rejects what a LimitRange does not allow.
pub(super) fn validate(
    ranges: &Remembered,
    cluster: &dyn Cluster,
    attributes: &Attributes,
) -> Result<()> {
    if !is_limited(attributes) {
        return Ok(());
    }
    for range in &*ranges.of(cluster, &attributes.namespace) {
        let broken = if attributes.resource.plural == "pods" {
            constraints::of_pod(range, &attributes.object)
        } else {
            constraints::of_claim(range, &attributes.object)
        };
        if let Some(why) = broken {
            return Err(forbidden(attributes, &why));
        }
    }
    Ok(())
}

/// Whether the request is for a pod or a claim that is not being deleted. Containers of pods change by the sub-resource
/// `resize` alone.
fn is_limited(attributes: &Attributes) -> bool {
    let resource = &attributes.resource;
    if !resource.group.is_empty() {
        return false;
    }
    let creates = attributes.operation == Operation::Create;
    let updates = attributes.operation == Operation::Update;
    let subresource = attributes.subresource.as_str();
    let is_concerned = match resource.plural.as_str() {
        "pods" => (creates && subresource.is_empty()) || (updates && subresource == "resize"),
        "persistentvolumeclaims" => (creates || updates) && subresource.is_empty(),
        _ => false,
    };
    let old = &attributes.old_object;
    is_concerned && !old.at("metadata").has("deletionTimestamp")
}

#[cfg(test)]
mod tests;
