//! What the API server itself writes: a field manager like others, whose name is `kube-apiserver`.

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::time::now;
use kubewright_registry::Registry;
use serde_json::Value;

use super::track::{Tracked, update};
use super::versions::Versions;

/// Notes that the server changed the status of a CustomResourceDefinition.
pub fn update_definition_status(registry: &Registry, old: &Value, new: &mut Value) {
    const MANAGER: &str = "kube-apiserver";
    let kind = GroupVersionKind {
        group: "apiextensions.k8s.io".to_owned(),
        version: "v1".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
    };
    let Some(resource) = registry.by_kind(&kind) else {
        return;
    };
    let tracked = Tracked {
        resource: &resource,
        kind: &kind,
        subresource: "status",
        registry,
        versions: &Versions::default(),
        now: &now(),
    };
    update(&tracked, old, new, false, MANAGER);
}
