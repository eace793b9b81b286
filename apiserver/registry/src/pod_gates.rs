//! What of pods is behind feature gates that are off by default: it is taken away.

use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

/// Takes the fields away that the API server of the emulated version does not know by default. `path` leads to the spec of
/// the pods.
pub(crate) fn close(object: &mut Value, path: &[&str]) {
    let mut part = Some(object);
    for field in path {
        part = part.and_then(|part| part.existing(field));
    }
    if let Some(spec) = part {
        pod(spec);
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
