//! The Secrets that a pod names.

use kubewright_apimachinery::view::View as _;
pub use kubewright_validation::pod::CONTAINERS;
use serde_json::Value;

/// The sources of volumes that have a `secretRef`.
pub const WITH_SECRET: [&str; 7] = [
    "cephfs",
    "cinder",
    "flexVolume",
    "iscsi",
    "rbd",
    "scaleIO",
    "storageos",
];

/// The names of the Secrets that the spec of a pod refers to, be they empty.
pub fn names<'a>(spec: &'a Value) -> Vec<&'a str> {
    let mut names = Vec::new();
    let mut named = |reference: &'a Value, field: &str| {
        if !reference.is_null() {
            names.push(reference.text(field));
        }
    };
    for secret in spec.list("imagePullSecrets") {
        named(secret, "name");
    }
    for container in CONTAINERS.iter().flat_map(|list| spec.list(list)) {
        for source in container.list("envFrom") {
            named(source.at("secretRef"), "name");
        }
        for variable in container.list("env") {
            named(variable.at("valueFrom").at("secretKeyRef"), "name");
        }
    }
    for volume in spec.list("volumes") {
        named(volume.at("azureFile"), "secretName");
        named(volume.at("secret"), "secretName");
        named(volume.at("csi").at("nodePublishSecretRef"), "name");
        for source in WITH_SECRET {
            named(volume.at(source).at("secretRef"), "name");
        }
        for source in volume.at("projected").list("sources") {
            named(source.at("secret"), "name");
        }
    }
    names
}
