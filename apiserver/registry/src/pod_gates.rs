//! What of pods is behind feature gates that are off by default: it is taken away.

use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

/// Takes the fields away that the API server of the emulated version does not know by default. `path` leads to the spec of
/// the pods.
pub(crate) fn close(object: &mut Value, path: &[&str]) {
    if let Some(spec) = part(object, path) {
        pod(spec);
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
        for kind in ["secret", "configMap", "downwardAPI", "projected"] {
            if let Some(source) = volume.existing(kind) {
                without_users(source);
            }
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
    for part in source.each("sources").filter_map(Value::as_object_mut) {
        part.values_mut().for_each(without_users);
    }
}
