//! What pods use, and the scopes that they are in.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use kubewright_apimachinery::names;
use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::list::ResourceList;
use crate::pod_resources;
use crate::scope::Scope;

const DEVICE_CLASS: &str = "deviceclass.resource.kubernetes.io/";

/// Whether a quota of this resource concerns pods.
pub(crate) fn is_resource(name: &str) -> bool {
    let computed = name
        .strip_prefix("requests.")
        .or_else(|| name.strip_prefix("limits."))
        .unwrap_or(name);
    matches!(computed, "cpu" | "memory" | "ephemeral-storage")
        || name == "pods"
        || name.starts_with("hugepages-")
        || name.starts_with("requests.hugepages-")
        || is_of_extended(name)
}

/// Extended resources cannot be overcommitted: only their requests have quotas.
fn is_of_extended(name: &str) -> bool {
    name.strip_prefix("requests.")
        .is_some_and(|requested| !is_native(name) || requested.starts_with(DEVICE_CLASS))
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::qualified_name(&format!("requests.{name}")).is_empty()
}

/// Whether a pod ends by itself after a time.
pub(crate) fn is_terminating(pod: &Value) -> bool {
    let deadline = pod.at("spec").int("activeDeadlineSeconds");
    deadline.is_some_and(|seconds| seconds >= 0)
}

pub(crate) fn is_in_scope(scope: &Scope, pod: &Value) -> bool {
    match scope.name.as_str() {
        "Terminating" => is_terminating(pod),
        "NotTerminating" => !is_terminating(pod),
        "BestEffort" => is_best_effort(pod),
        "NotBestEffort" => !is_best_effort(pod),
        "PriorityClass" => {
            let class = pod.at("spec").text("priorityClassName");
            let classes = [class];
            scope.selects(if class.is_empty() { &[] } else { &classes })
        }
        "CrossNamespacePodAffinity" => has_affinity_across_namespaces(pod),
        _ => false,
    }
}

/// The class of quality of service is in the status of every pod, a new one's included.
fn is_best_effort(pod: &Value) -> bool {
    pod.at("status").text("qosClass") == "BestEffort"
}

fn has_affinity_across_namespaces(pod: &Value) -> bool {
    let affinity = pod.at("spec").at("affinity");
    let crosses = |term: &Value| {
        !term.list("namespaces").is_empty() || !term.at("namespaceSelector").is_null()
    };
    ["podAffinity", "podAntiAffinity"].into_iter().any(|kind| {
        let terms = affinity.at(kind);
        let required = terms.list("requiredDuringSchedulingIgnoredDuringExecution");
        let preferred = terms.list("preferredDuringSchedulingIgnoredDuringExecution");
        let mut preferred = preferred.iter().map(|term| term.at("podAffinityTerm"));
        required.iter().any(crosses) || preferred.any(crosses)
    })
}

/// Where CPU or memory has a quota, every container must specify it, unless the pod as a whole does.
pub(crate) fn constraints(restricted: &[String], pod: &Value) -> Result<(), String> {
    if pod_resources::are_set(pod, &["requests", "limits"]) {
        return Ok(());
    }
    let spec = pod.at("spec");
    let containers = spec.list("containers").iter();
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for container in containers.chain(spec.list("initContainers")) {
        let resources = container.at("resources");
        for name in restricted {
            let (list, resource) = match name.as_str() {
                "cpu" | "memory" => ("requests", name.as_str()),
                "requests.cpu" | "limits.cpu" | "requests.memory" | "limits.memory" => {
                    name.split_once('.').unwrap_or_default()
                }
                _ => continue,
            };
            if !resources.at(list).has(resource) {
                let containers = missing.entry(name).or_default();
                containers.insert(container.text("name"));
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let told = missing.iter().map(|(name, containers)| {
        let containers: Vec<&str> = containers.iter().copied().collect();
        format!("{name} for: {}", containers.join(","))
    });
    let told: Vec<String> = told.collect();
    Err(format!("must specify {}", told.join("; ")))
}

/// Adds what a pod uses that has not ended.
pub(crate) fn add_usage(pod: &Value, now: Timestamp, used: &mut ResourceList) {
    if !is_charged(pod, now) {
        return;
    }
    used.set("pods", Quantity::from(1));
    for (name, quantity) in pod_resources::requests(pod).iter() {
        if matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-")
        {
            used.set(name, quantity);
            used.set(format!("requests.{name}"), quantity);
        } else if is_extended(name) || name.starts_with(DEVICE_CLASS) {
            used.set(format!("requests.{name}"), quantity);
        }
    }
    for (name, quantity) in pod_resources::limits(pod).iter() {
        if matches!(name, "cpu" | "memory" | "ephemeral-storage") {
            used.set(format!("limits.{name}"), quantity);
        }
    }
}

/// Whether a pod uses more than its place in the store: it has not ended, and is not stuck at its end.
pub(crate) fn is_charged(pod: &Value, now: Timestamp) -> bool {
    if matches!(pod.at("status").text("phase"), "Failed" | "Succeeded") {
        return false;
    }
    let metadata = pod.at("metadata");
    let Some(grace) = metadata.int("deletionGracePeriodSeconds") else {
        return true;
    };
    let deleted: Option<Timestamp> = metadata.text("deletionTimestamp").parse().ok();
    deleted.is_none_or(|deleted| now <= deleted + SignedDuration::from_secs(grace))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_container_must_specify_what_has_a_quota() {
        let pod = json!({"spec": {
            "containers": [
                {"name": "b", "resources": {"limits": {"cpu": "1"}}},
                {"name": "a", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}},
            ],
            "initContainers": [{"name": "i"}],
        }});
        let restricted = ["limits.cpu", "pods", "requests.cpu"].map(str::to_owned);
        assert_eq!(
            constraints(&restricted, &pod).unwrap_err(),
            "must specify limits.cpu for: i; requests.cpu for: b,i"
        );
    }

    #[test]
    fn a_pod_that_has_ended_or_is_stuck_at_its_end_uses_only_its_place() {
        let used = |pod: &Value| {
            let mut used = ResourceList::default();
            add_usage(pod, "2026-01-01T00:01:00Z".parse().unwrap(), &mut used);
            used.shown()
        };
        let spec = json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "example.com/gpu": "2"}}}]});
        assert_eq!(
            used(&json!({"spec": spec})),
            "cpu=1,pods=1,requests.cpu=1,requests.example.com/gpu=2"
        );
        assert_eq!(
            used(&json!({"spec": spec, "status": {"phase": "Succeeded"}})),
            ""
        );
        let deleted = |grace: i64| json!({"deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": grace});
        assert_eq!(used(&json!({"spec": spec, "metadata": deleted(29)})), "");
        assert!(!used(&json!({"spec": spec, "metadata": deleted(30)})).is_empty());
    }
}
