//! Status writes of the controllers, which the server makes itself.

use std::sync::Arc;

use kubewright_apimachinery::view::{Edit, View};
use kubewright_registry::{Registry, Served};
use kubewright_storage::{CommitError, Draft, Object, Store};
use serde_json::Value;

/// The name of the definitions in the store.
pub(super) const TABLE: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Records in `managedFields` that the server itself changed a definition's status.
pub type Track = fn(&Registry, &Value, &mut Value);

/// Where the controllers read and write.
#[derive(Debug)]
pub(super) struct Storage {
    pub(super) store: Arc<Store>,
    pub(super) served: Arc<Served>,
    pub(super) track: Track,
}

impl Storage {
    /// Stores a changed definition; false if the backend failed. One that another server has changed meanwhile is read again, as
    /// after a write.
    pub(super) fn write_status(&self, stored: &Object, old: &Value, mut new: Value) -> bool {
        let served = self.served.now();
        (self.track)(&served, old, &mut new);
        let (path, expected) = (&stored.path, stored.revision);
        let waits = !new.at("metadata").list("finalizers").is_empty();
        if new.at("metadata").has("deletionTimestamp") && !waits {
            let last = Draft::new(&stored.value());
            return is_new(&self.store.delete(TABLE, path, expected, last));
        }
        if new.at("metadata").list("finalizers").is_empty()
            && let Some(metadata) = new.part("metadata")
        {
            metadata.drop_field("finalizers");
        }
        let draft = Draft::new(&new);
        is_new(&self.store.replace(TABLE, path, expected, draft))
    }
}

/// Whether the store has another state than the one that was read.
fn is_new(outcome: &Result<Arc<Object>, CommitError>) -> bool {
    matches!(outcome, Ok(_) | Err(CommitError::Raced(_)))
}
