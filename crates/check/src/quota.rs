//! What objects take of ResourceQuotas: a check counts them together.

use kubewright_apimachinery::view::{Edit as _, View as _};
use serde_json::{Map, Value, json};

use crate::manifest::Manifest;

/// The most pods that are made of one workload.
const MOST_PODS: i64 = 1_000;

/// What a controller writes into a new ResourceQuota: it is not enforced before.
pub(crate) fn unused(quota: &Value) -> Value {
    let hard = quota.at("spec").at("hard");
    let none = hard.as_object().into_iter().flatten();
    let none: Map<String, Value> = none.map(|(name, _)| (name.clone(), json!("0"))).collect();
    json!({ "status": { "hard": hard, "used": none } })
}

/// The pods that a controller makes of a workload.
pub(crate) fn pods(manifest: &Manifest, workload: &Value) -> impl Iterator<Item = Value> {
    let spec = workload.at("spec");
    let count = match (manifest.api_version(), manifest.kind()) {
        ("apps/v1", "Deployment" | "ReplicaSet" | "StatefulSet")
        | ("v1", "ReplicationController") => spec.int("replicas").unwrap_or(1),
        ("batch/v1", "Job") => spec.int("parallelism").unwrap_or(1),
        // A DaemonSet has as many as there are nodes, and a CronJob has them later.
        _ => 0,
    };
    let (name, namespace) = (manifest.name().to_owned(), manifest.namespace().to_owned());
    let template = spec.at("template").clone();
    (0..count.min(MOST_PODS)).map(move |number| {
        let mut pod = template.clone();
        pod.put("apiVersion", "v1");
        pod.put("kind", "Pod");
        if let Some(metadata) = pod.part("metadata") {
            metadata.put("name", format!("{name}-{number}"));
            metadata.put("namespace", namespace.as_str());
        }
        pod
    })
}
