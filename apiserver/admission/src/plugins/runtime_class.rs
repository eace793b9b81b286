//! RuntimeClass: a pod gets the overhead and the scheduling of the runtime that it asks for.

use std::sync::Arc;

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::names;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::{Edit as _, View as _};
use serde_json::Value;

use super::subject::{creates, forbidden};
use crate::attributes::Attributes;
use crate::cluster::Cluster;

pub(super) fn admit(cluster: &dyn Cluster, attributes: &mut Attributes) -> Result<()> {
    if !creates(attributes, "", "pods") {
        return Ok(());
    }
    let class = class_of(cluster, attributes)?;
    let Some(class) = &class else {
        return Ok(());
    };
    let spec = attributes.object.at("spec");
    let overhead = overhead_of(class);
    let own = spec.at("overhead");
    if let Some(overhead) = overhead
        && own.as_object().is_some_and(|own| !own.is_empty())
        && own != overhead
    {
        return Err(forbidden(attributes, ANOTHER));
    }
    let scheduling = class.at("scheduling");
    if let Some(why) = conflict(spec, scheduling) {
        return Err(forbidden(attributes, &why));
    }
    if let Some(spec) = attributes.object.part("spec") {
        if let Some(overhead) = overhead {
            spec.put("overhead", overhead.clone());
        }
        schedule(spec, scheduling);
    }
    Ok(())
}

/// Judges the overhead that the pod has in the end.
pub(super) fn validate(cluster: &dyn Cluster, attributes: &Attributes) -> Result<()> {
    if !creates(attributes, "", "pods") {
        return Ok(());
    }
    let class = class_of(cluster, attributes)?;
    let own = attributes.object.at("spec").at("overhead");
    match class.as_deref().and_then(overhead_of) {
        None if !own.is_null() => Err(forbidden(
            attributes,
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        )),
        Some(overhead) if own != overhead => Err(forbidden(attributes, ANOTHER)),
        _ => Ok(()),
    }
}

const ANOTHER: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

fn class_of(cluster: &dyn Cluster, attributes: &Attributes) -> Result<Option<Arc<Value>>> {
    let spec = attributes.object.at("spec");
    if !spec.has("runtimeClassName") {
        return Ok(None);
    }
    let name = spec.text("runtimeClassName");
    // The real server's client does not even ask for these.
    if name.is_empty() {
        return Err(Status::plain("resource name may not be empty"));
    }
    let found = names::path_segment(name);
    if !found.is_empty() {
        return Err(Status::plain(format!(
            "invalid resource name {}: [{}]",
            quoted(name),
            found.join(" ")
        )));
    }
    let class = cluster.get("node.k8s.io", "runtimeclasses", "", name);
    if class.is_none() {
        let why = format!("pod rejected: RuntimeClass {} not found", quoted(name));
        return Err(forbidden(attributes, &why));
    }
    Ok(class)
}

fn overhead_of(class: &Value) -> Option<&Value> {
    let overhead = class.at("overhead").at("podFixed");
    (!overhead.is_null()).then_some(overhead)
}

fn conflict(spec: &Value, scheduling: &Value) -> Option<String> {
    let own = spec.at("nodeSelector");
    let differs = |(key, wanted): &(&str, &Value)| own.has(key) && own.at(key) != *wanted;
    let (key, wanted) = scheduling.entries("nodeSelector").find(differs)?;
    let wanted = wanted.as_str().unwrap_or_default();
    Some(format!(
        "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {wanted}; pod.spec.nodeSelector[{key}] = {}",
        own.text(key)
    ))
}

fn schedule(spec: &mut Value, scheduling: &Value) {
    if scheduling.has("nodeSelector")
        && let Some(selector) = spec.part("nodeSelector")
    {
        for (key, value) in scheduling.entries("nodeSelector") {
            selector.put(key, value.clone());
        }
    }
    let mut tolerations = spec.list("tolerations").to_vec();
    let added = scheduling.list("tolerations").iter();
    let added: Vec<_> = added
        .filter(|added| !tolerations.contains(added))
        .cloned()
        .collect();
    if !added.is_empty() {
        tolerations.extend(added);
        spec.put("tolerations", tolerations);
    }
}
