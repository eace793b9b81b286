//! What claims for volumes use, in all and of each class.

use std::collections::BTreeSet;

use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::list::ResourceList;
use crate::scope::Scope;

const RESOURCES: [&str; 2] = ["persistentvolumeclaims", "requests.storage"];
const OF_CLASS: &str = ".storageclass.storage.k8s.io/";

pub(crate) fn is_resource(name: &str) -> bool {
    let of_class = |resource: &str| {
        name.strip_suffix(resource)
            .is_some_and(|class| class.ends_with(OF_CLASS))
    };
    RESOURCES.contains(&name) || RESOURCES.into_iter().any(of_class)
}

pub(crate) fn is_in_scope(scope: &Scope, claim: &Value) -> bool {
    scope.name == "VolumeAttributesClass" && {
        let classes: Vec<&str> = attributes_classes(claim).into_iter().collect();
        scope.selects(&classes)
    }
}

/// The class that is asked for, the one that the volume has, and the one that it is about to have.
pub(crate) fn attributes_classes(claim: &Value) -> BTreeSet<&str> {
    let (spec, status) = (claim.at("spec"), claim.at("status"));
    let all = [
        spec.text("volumeAttributesClassName"),
        status.text("currentVolumeAttributesClassName"),
        status
            .at("modifyVolumeStatus")
            .text("targetVolumeAttributesClassName"),
    ];
    all.into_iter().filter(|class| !class.is_empty()).collect()
}

pub(crate) fn add_usage(claim: &Value, used: &mut ResourceList) {
    let class = storage_class(claim);
    let mut charge = |resource: &str, quantity: Quantity| {
        used.set(resource, quantity);
        if !class.is_empty() {
            used.set(format!("{class}{OF_CLASS}{resource}"), quantity);
        }
    };
    charge("persistentvolumeclaims", Quantity::from(1));
    let quantity =
        |holder: &Value, field: &str| Quantity::from_value(holder.at(field).at("storage"));
    let requested = quantity(claim.at("spec").at("resources"), "requests");
    let Some(requested) = requested.map(Quantity::rounded_up) else {
        return;
    };
    let allocated = quantity(claim.at("status"), "allocatedResources");
    let larger = allocated.filter(|allocated| *allocated > requested);
    charge(
        "requests.storage",
        larger.map_or(requested, Quantity::rounded_up),
    );
}

/// The annotation is older than the field, and comes first.
fn storage_class(claim: &Value) -> &str {
    const ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
    let annotations = claim.at("metadata").at("annotations");
    if annotations.has(ANNOTATION) {
        annotations.text(ANNOTATION)
    } else {
        claim.at("spec").text("storageClassName")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_claim_uses_the_storage_of_its_class_in_whole_bytes() {
        let claim = json!({
            "spec": {"storageClassName": "gold", "resources": {"requests": {"storage": "1500m"}}},
            "status": {"allocatedResources": {"storage": "1"}},
        });
        let mut used = ResourceList::default();
        add_usage(&claim, &mut used);
        assert_eq!(
            used.shown(),
            "gold.storageclass.storage.k8s.io/persistentvolumeclaims=1,gold.storageclass.storage.k8s.io/requests.storage=2,persistentvolumeclaims=1,requests.storage=2"
        );
    }
}
