//! The types of volumes.

use std::collections::BTreeSet;

use kubewright_apimachinery::view::View as _;

use crate::pod::Pod;
use crate::violation::{Violation, violation};
use crate::words::{plural, quoted, quoted_set, uses};

const ALLOWED: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

const RESTRICTED: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

pub(super) fn host_path(pod: &Pod<'_>) -> Option<Violation> {
    let volumes = pod.spec.list("volumes").iter();
    let volumes = volumes.filter(|volume| volume.has("hostPath"));
    let names: Vec<&str> = volumes.map(|volume| volume.text("name")).collect();
    (!names.is_empty()).then(|| {
        let word = plural("volume", names.len());
        let detail = format!("{word} {}", quoted(names.iter().copied()));
        violation("hostPath volumes", detail)
    })
}

pub(super) fn restricted(pod: &Pod<'_>) -> Option<Violation> {
    let mut names = Vec::new();
    let mut types = BTreeSet::new();
    for volume in pod.spec.list("volumes") {
        if ALLOWED.iter().any(|source| volume.has(source)) {
            continue;
        }
        names.push(volume.text("name"));
        let mut known = RESTRICTED.iter();
        let source = known.find(|source| volume.has(source));
        types.insert(source.copied().unwrap_or("unknown"));
    }
    (!names.is_empty()).then(|| {
        let detail = format!(
            "{} {} {} {} {}",
            plural("volume", names.len()),
            quoted(names.iter().copied()),
            uses(names.len()),
            plural("restricted volume type", types.len()),
            quoted_set(&types)
        );
        violation("restricted volume types", detail)
    })
}
