//! StorageObjectInUseProtection: a finalizer keeps new volumes and claims until no object uses them.

use kubewright_apimachinery::view::{Edit as _, View as _};
use serde_json::Value;

use super::subject::creates;
use crate::attributes::Attributes;

pub(super) fn admit(attributes: &mut Attributes) {
    let finalizer = if creates(attributes, "", "persistentvolumes") {
        "kubernetes.io/pv-protection"
    } else if creates(attributes, "", "persistentvolumeclaims") {
        "kubernetes.io/pvc-protection"
    } else {
        return;
    };
    if let Some(metadata) = attributes.object.part("metadata") {
        let mut finalizers = metadata.list("finalizers").to_vec();
        if !finalizers.iter().any(|known| known == finalizer) {
            finalizers.push(Value::from(finalizer));
            metadata.put("finalizers", finalizers);
        }
    }
}
