//! What of pods is behind feature gates that are off by default: it is taken away.

use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Map, Value};

/// Init containers were once written here.
const RETIRED_ANNOTATIONS: [&str; 4] = [
    "pod.alpha.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.beta.kubernetes.io/init-containers",
];

/// Takes the fields away that the API server of the emulated version does not know by default, and the annotations that no
/// version knows any more. `path` leads to the spec of the pods.
pub(crate) fn close(object: &mut Value, path: &[&str]) {
    if let Some(spec) = part(object, path) {
        pod(spec);
    }
    let holder = path
        .split_last()
        .and_then(|(_, holder)| part(object, holder));
    if let Some(metadata) = holder.and_then(|holder| holder.existing("metadata")) {
        without_retired_annotations(metadata);
    }
}

/// Takes the annotations of pods away that no version knows any more.
pub fn without_retired_annotations(metadata: &mut Value) {
    let Some(annotations) = metadata.existing("annotations") else {
        return;
    };
    for key in RETIRED_ANNOTATIONS {
        annotations.drop_field(key);
    }
    if annotations.as_object().is_some_and(Map::is_empty) {
        metadata.drop_field("annotations");
    }
}

/// The same of the spec of a job.
pub(crate) fn close_job(object: &mut Value, path: &[&str]) {
    if let Some(spec) = part(object, path) {
        spec.drop_field("scheduling");
        close(spec, &["template", "spec"]);
    }
}

/// The part of an object to which a path leads.
pub(crate) fn part<'a>(object: &'a mut Value, path: &[&str]) -> Option<&'a mut Value> {
    path.iter()
        .try_fold(object, |part, field| part.existing(field))
}

fn pod(spec: &mut Value) {
    spec.drop_field("schedulingGroup");
    spec.drop_field("evictionResponders");
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in spec.each(list) {
            for mount in container.each("volumeMounts") {
                mount.drop_field("bindMountOptions");
            }
            for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
                if let Some(probe) = container.existing(probe) {
                    without_protocol(probe);
                }
            }
            let Some(lifecycle) = container.existing("lifecycle") else {
                continue;
            };
            for hook in ["postStart", "preStop"] {
                if let Some(hook) = lifecycle.existing(hook) {
                    without_protocol(hook);
                }
            }
            let said = lifecycle.has("stopSignal");
            lifecycle.drop_field("stopSignal");
            if said && !lifecycle.has("postStart") && !lifecycle.has("preStop") {
                container.drop_field("lifecycle");
            }
        }
    }
    for volume in spec.each("volumes") {
        if let Some(source) = first_of(volume, &["secret", "configMap", "downwardAPI", "projected"])
        {
            without_users(source);
        }
        if let Some(directory) = volume.existing("emptyDir") {
            directory.drop_field("mode");
        }
    }
}

fn without_protocol(handler: &mut Value) {
    for (action, field) in [("httpGet", "protocol"), ("grpc", "mode")] {
        if let Some(action) = handler.existing(action) {
            action.drop_field(field);
        }
    }
}

/// Files in a volume belong to no users of their own.
fn without_users(source: &mut Value) {
    for field in ["defaultUser", "user"] {
        source.drop_field(field);
    }
    for item in source.each("items") {
        item.drop_field("user");
    }
    for part in source.each("sources") {
        let parts = [
            "secret",
            "downwardAPI",
            "configMap",
            "serviceAccountToken",
            "clusterTrustBundle",
            "podCertificate",
        ];
        if let Some(source) = first_of(part, &parts) {
            without_users(source);
        }
    }
}

/// The source of a volume: upstream looks no further than the first one of those that exclude each other.
fn first_of<'a>(holder: &'a mut Value, sources: &[&str]) -> Option<&'a mut Value> {
    let first = sources.iter().find(|source| holder.has(source))?;
    holder.existing(first)
}
