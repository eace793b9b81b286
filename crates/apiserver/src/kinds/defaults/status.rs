//! The parts of a status that Go always writes: counters without `omitempty`, structs that are not pointers.

use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Value, json};

use crate::kinds::Resource;

/// Fills in what the status of this kind always has. Kinds without a status are left alone.
pub(crate) fn fill(resource: &Resource, object: &mut Value) {
    let counters: &[&str] = match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "ReplicationController") | ("apps", "ReplicaSet") => &["replicas"],
        ("apps", "StatefulSet") => &["replicas", "availableReplicas"],
        ("apps", "DaemonSet") => &[
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
        ],
        ("policy", "PodDisruptionBudget") => &[
            "disruptionsAllowed",
            "currentHealthy",
            "desiredHealthy",
            "expectedPods",
        ],
        ("autoscaling", "HorizontalPodAutoscaler") => match resource.version.as_str() {
            "v1" => &["currentReplicas", "desiredReplicas"],
            _ => &["desiredReplicas"],
        },
        ("apps", "Deployment")
        | ("batch", "Job" | "CronJob")
        | (
            "",
            "Pod"
            | "Node"
            | "Namespace"
            | "Service"
            | "ResourceQuota"
            | "PersistentVolume"
            | "PersistentVolumeClaim",
        )
        | ("networking.k8s.io", "Ingress" | "ServiceCIDR")
        | ("certificates.k8s.io", "CertificateSigningRequest")
        | ("flowcontrol.apiserver.k8s.io", _)
        | ("storage.k8s.io", "VolumeAttachment")
        | ("resource.k8s.io", "ResourceClaim")
        | ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => &[],
        _ => return,
    };
    let Some(status) = object.part("status") else {
        return;
    };
    for counter in counters {
        status.fill(counter, 0);
    }
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Service") | ("networking.k8s.io", "Ingress") => {
            status.part("loadBalancer");
        }
        ("", "Namespace") => status.fill_text("phase", "Active"),
        ("", "PersistentVolume" | "PersistentVolumeClaim") => status.fill_text("phase", "Pending"),
        ("storage.k8s.io", "VolumeAttachment") => status.fill("attached", false),
        ("autoscaling", "HorizontalPodAutoscaler") if resource.version != "v1" => {
            status.fill("currentMetrics", Value::Null);
        }
        ("", "Node") => node(status),
        _ => {}
    }
}

fn node(status: &mut Value) {
    if !status.has("daemonEndpoints") {
        status.put(
            "daemonEndpoints",
            json!({ "kubeletEndpoint": { "Port": 0 } }),
        );
    }
    let Some(info) = status.part("nodeInfo") else {
        return;
    };
    for field in [
        "architecture",
        "bootID",
        "containerRuntimeVersion",
        "kernelVersion",
        "kubeProxyVersion",
        "kubeletVersion",
        "machineID",
        "operatingSystem",
        "osImage",
        "systemUUID",
    ] {
        info.fill(field, "");
    }
}
