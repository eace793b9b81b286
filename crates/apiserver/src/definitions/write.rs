//! How the controllers write a definition: its status, as the server itself.

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::view::{Edit, View};
use kubewright_storage::{Draft, Object};
use serde_json::Value;

use super::TABLE;
use crate::managers::{self, Tracked, Versions};
use crate::rest::now;
use crate::server::Shared;

/// Who the controllers are among the managers of fields.
const MANAGER: &str = "kube-apiserver";

/// Stores a changed definition. A definition that somebody else has changed in the meantime is looked at again anyway.
pub(super) fn status(shared: &Shared, stored: &Object, old: &Value, mut new: Value) -> bool {
    let served = shared.served.now();
    let kind = GroupVersionKind {
        group: "apiextensions.k8s.io".to_owned(),
        version: "v1".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
    };
    let Some(resource) = served.by_kind(&kind) else {
        return false;
    };
    let tracked = Tracked {
        resource: &resource,
        kind: &kind,
        subresource: "status",
        registry: &served,
        versions: &Versions::default(),
        now: &now(),
    };
    managers::update(&tracked, old, &mut new, false, MANAGER);
    let (path, expected) = (&stored.path, stored.revision);
    let waits = !new.at("metadata").list("finalizers").is_empty();
    if new.at("metadata").has("deletionTimestamp") && !waits {
        let last = Draft::new(&stored.value());
        return shared.store.delete(TABLE, path, expected, last).is_ok();
    }
    if new.at("metadata").list("finalizers").is_empty()
        && let Some(metadata) = new.part("metadata")
    {
        metadata.drop_field("finalizers");
    }
    let draft = Draft::new(&new);
    shared.store.replace(TABLE, path, expected, draft).is_ok()
}
