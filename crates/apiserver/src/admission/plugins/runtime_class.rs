//! RuntimeClass: a pod gets the overhead and the scheduling of the runtime that it asks for.

use serde_json::Value;

use super::{creates, forbidden};
use crate::admission::attributes::Attributes;
use crate::admission::cluster::Cluster;
use crate::field::quoted;
use crate::kinds::view::{Edit as _, View as _};
use crate::status::Result;

pub(super) fn admit(cluster: &dyn Cluster, attributes: &mut Attributes) -> Result<()> {
    if !creates(attributes, "", "pods") {
        return Ok(());
    }
    let spec = attributes.object.at("spec");
    let name = spec.text("runtimeClassName");
    let class = match name {
        "" => None,
        name => {
            let class = cluster.get("node.k8s.io", "runtimeclasses", "", name);
            let unknown = || format!("pod rejected: RuntimeClass {} not found", quoted(name));
            Some(class.ok_or_else(|| forbidden(attributes, &unknown()))?)
        }
    };
    let overhead = class
        .as_ref()
        .map(|class| class.at("overhead").at("podFixed"));
    let overhead = overhead.filter(|overhead| !overhead.is_null());
    if let Some(why) = wrong_overhead(spec, overhead) {
        return Err(forbidden(attributes, why));
    }
    let Some(class) = &class else {
        return Ok(());
    };
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

fn wrong_overhead(spec: &Value, overhead: Option<&Value>) -> Option<&'static str> {
    match (spec.has("overhead"), overhead) {
        (true, None) => Some(
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
        (true, Some(overhead)) if spec.at("overhead") != overhead => {
            Some("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        }
        _ => None,
    }
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
