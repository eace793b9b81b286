//! PersistentVolumeClaimResize: a claim grows only where its class says that volumes can.

use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::status::Result;
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use super::subject::{forbidden, is_about};
use crate::attributes::{Attributes, Operation};
use crate::cluster::Cluster;

pub(super) fn validate(cluster: &dyn Cluster, attributes: &Attributes) -> Result<()> {
    let updates = attributes.operation == Operation::Update;
    if !updates || !is_about(attributes, "", "persistentvolumeclaims") {
        return Ok(());
    }
    if size(&attributes.object) <= size(&attributes.old_object) {
        return Ok(());
    }
    if attributes.old_object.at("status").text("phase") != "Bound" {
        return Err(forbidden(
            attributes,
            "Only bound persistent volume claims can be expanded",
        ));
    }
    let (new, old) = (class(&attributes.object), class(&attributes.old_object));
    let expands = |class: &str| {
        let class = cluster.get("storage.k8s.io", "storageclasses", "", class);
        class.is_some_and(|class| class.flag("allowVolumeExpansion"))
    };
    if !new.is_empty() && new == old && expands(new) {
        return Ok(());
    }
    Err(forbidden(
        attributes,
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
    ))
}

fn size(claim: &Value) -> Option<Quantity> {
    Quantity::from_value(
        claim
            .at("spec")
            .at("resources")
            .at("requests")
            .at("storage"),
    )
}

fn class(claim: &Value) -> &str {
    let annotated = claim
        .at("metadata")
        .at("annotations")
        .text("volume.beta.kubernetes.io/storage-class");
    if annotated.is_empty() {
        claim.at("spec").text("storageClassName")
    } else {
        annotated
    }
}
