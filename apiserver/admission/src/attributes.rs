//! The attributes of a request (operation, user, object): the input of every admission step.

use std::sync::Arc;

use kubewright_apimachinery::conform::{Medium, UnseenBytes, unseen_bytes, write_empties};
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::user::User;
use kubewright_fieldmanagement::NewManagedFields;
use kubewright_registry::Resource;
use serde_json::Value;

/// The operation of an admission review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the words are Kubernetes' own")]
#[non_exhaustive]
pub enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

impl Operation {
    /// Returns the operation as rules and reviews spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// One request on its way through admission.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    clippy::struct_excessive_bools,
    reason = "the handlers of requests build it, and each is a fact of its own"
)]
pub struct Attributes {
    /// The operation.
    pub operation: Operation,
    /// The resource of the request's own version.
    pub resource: Arc<Resource>,
    /// The sub-resource; empty for the object itself.
    pub subresource: String,
    /// The kind of `object` and `old_object`: the resource's own, or the sub-resource's (`Scale`).
    pub kind: GroupVersionKind,
    /// The namespace; empty for cluster-scoped resources, the object's own name for namespaces.
    pub namespace: String,
    /// The name; empty where the request has none (generateName, deletecollection).
    pub name: String,
    /// The user who sends the request.
    pub user: User,
    /// Whether the request is a dry run: nothing is stored.
    pub dry_run: bool,
    /// CreateOptions, UpdateOptions or DeleteOptions with apiVersion and kind; null for CONNECT.
    pub options: Value,
    /// The object to store; null for DELETE.
    pub object: Value,
    /// Whether the object may have lists or maps that are empty: in memory they are not the same as none.
    pub empties: bool,
    /// Whether a webhook patched the object.
    pub patched: bool,
    /// Whether the object has a time of this request, which is finer than JSON shows: its creation, or that of a field manager.
    pub timed: bool,
    /// The lists of a custom object that a policy set to none at all, as JSON pointers: they are null where the object is
    /// stored.
    pub unset_lists: Vec<String>,
    /// The `managedFields` as they were before a webhook's patch reached them, if one did.
    pub unpatched_managed_fields: Option<Value>,
    /// The JSON of the `managedFields` of a new object, until an admission step reads them: `object` does not contain them
    /// before that.
    pub new_managed_fields: Option<NewManagedFields>,
    /// The object as it is stored; null for CREATE and CONNECT.
    pub old_object: Value,
    /// When the request must be answered.
    pub deadline: tokio::time::Instant,
}

impl Attributes {
    /// Moves the `managedFields` into `object`, where admission steps can read and change them.
    pub fn include_managed_fields(&mut self) {
        if let Some(entries) = self.new_managed_fields.take() {
            entries.put_into(&mut self.object);
        }
    }

    /// The bytes of the object that are stored otherwise than readers see them.
    pub fn unseen_bytes(&self) -> Option<UnseenBytes> {
        self.empties
            .then(|| unseen_bytes(&self.kind, &self.object))
            .flatten()
    }

    /// Makes null of the lists that a policy set to none at all.
    pub fn write_unset_lists(&mut self) {
        set_to_null(&mut self.object, &self.unset_lists);
    }

    /// Makes the object what comes back from where it is written.
    pub fn write_empties(&mut self, medium: Medium) {
        if std::mem::take(&mut self.empties) {
            write_empties(&self.kind, &mut self.object, medium);
        }
    }
}

/// Makes null of the lists at these JSON pointers that are still empty.
pub(crate) fn set_to_null(object: &mut Value, places: &[String]) {
    for place in places {
        let list = object.pointer_mut(place);
        let empty = list.filter(|list| list.as_array().is_some_and(Vec::is_empty));
        if let Some(list) = empty {
            *list = Value::Null;
        }
    }
}
