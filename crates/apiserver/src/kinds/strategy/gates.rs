//! What is behind feature gates that are off unless somebody turns them on: it is taken away.

use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use crate::kinds::Resource;

/// Takes away what the API server of the emulated version does not know by default.
pub(super) fn close(resource: &Resource, object: &mut Value) {
    let (group, kind) = (resource.group.as_str(), resource.kind.as_str());
    if (group, kind) == ("apps", "StatefulSet")
        && let Some(rolling) = object
            .existing("spec")
            .and_then(|spec| spec.existing("updateStrategy"))
            .and_then(|strategy| strategy.existing("rollingUpdate"))
    {
        rolling.drop_field("maxUnavailable");
    }
    if (group, kind) == ("storage.k8s.io", "CSIDriver")
        && let Some(spec) = object.existing("spec")
    {
        spec.drop_field("preventPodSchedulingIfMissing");
    }
    if (group, kind) == ("resource.k8s.io", "ResourceSlice")
        && let Some(spec) = object.existing("spec")
    {
        devices(spec);
    }
    let path: &[&str] = match (group, kind) {
        ("", "Pod") => &["spec"],
        ("", "PodTemplate") => &["template", "spec"],
        ("", "ReplicationController")
        | ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("batch", "Job") => &["spec", "template", "spec"],
        ("batch", "CronJob") => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => return,
    };
    let mut part = Some(object);
    for field in path {
        part = part.and_then(|part| part.existing(field));
    }
    if let Some(spec) = part {
        pod(spec);
    }
}

fn devices(spec: &mut Value) {
    for device in spec.each("devices") {
        device.drop_field("nodeAllocatableResourceMappings");
        let Some(Value::Object(attributes)) = device.get_mut("attributes") else {
            continue;
        };
        for (_, attribute) in attributes.iter_mut() {
            for list in ["bools", "ints", "strings", "versions"] {
                attribute.drop_field(list);
            }
        }
    }
}

fn pod(spec: &mut Value) {
    spec.drop_field("schedulingGroup");
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in spec.each(list) {
            let Some(lifecycle) = container.existing("lifecycle") else {
                continue;
            };
            let said = lifecycle.has("stopSignal");
            lifecycle.drop_field("stopSignal");
            if said && !lifecycle.has("postStart") && !lifecycle.has("preStop") {
                container.drop_field("lifecycle");
            }
        }
    }
    for volume in spec.each("volumes") {
        if let Some(projected) = volume.existing("projected") {
            for source in projected.each("sources") {
                source.drop_field("clusterTrustBundle");
                source.drop_field("podCertificate");
            }
        }
    }
}
