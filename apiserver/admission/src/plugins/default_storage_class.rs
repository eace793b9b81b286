//! DefaultStorageClass: a claim that names no class gets the default one.

use kubewright_apimachinery::view::{Edit as _, View as _};

use super::subject::{creates, default_class};
use crate::attributes::Attributes;
use crate::cluster::Cluster;

const MARKS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

pub(super) fn admit(cluster: &dyn Cluster, attributes: &mut Attributes) {
    if !creates(attributes, "", "persistentvolumeclaims") {
        return;
    }
    let object = &mut attributes.object;
    let annotated = object
        .at("metadata")
        .at("annotations")
        .has("volume.beta.kubernetes.io/storage-class");
    if annotated || object.at("spec").has("storageClassName") {
        return;
    }
    if let Some(class) = default_class(cluster, "storage.k8s.io", "storageclasses", &MARKS)
        && let Some(spec) = object.part("spec")
    {
        spec.put("storageClassName", class.at("metadata").text("name"));
    }
}
