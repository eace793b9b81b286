//! What is being asked, by whom, about which object: the input of every admission step.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use kubewright_apimachinery::conform::{Medium, write_empties};
use kubewright_apimachinery::meta::GroupVersionKind;
use serde_json::Value;

use crate::kinds::Resource;
use crate::managers;

/// The operation word of an admission review.
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
    /// The word as it stands in rules and reviews.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// Who sent the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the four members of userInfo")]
pub struct User {
    /// The name, such as `kubernetes-admin`.
    pub username: String,
    /// The uid; often empty.
    pub uid: String,
    /// The groups, such as `system:masters`.
    pub groups: Vec<String>,
    /// What the authenticator adds.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// The user of a service account, without the groups that every authenticated user has.
    pub(crate) fn service_account(namespace: &str, name: &str) -> Self {
        Self {
            username: format!("system:serviceaccount:{namespace}:{name}"),
            groups: vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
            ],
            ..Self::default()
        }
    }
}

/// One request on its way through admission.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "built by the handlers inside this crate"
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
    /// Who asks.
    pub user: User,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// CreateOptions, UpdateOptions or DeleteOptions with apiVersion and kind; null for CONNECT.
    pub options: Value,
    /// The object as it shall be; null for DELETE.
    pub object: Value,
    /// Whether the object may have lists or maps that are empty: in memory they are not the same as none.
    pub empties: bool,
    /// Whether a webhook patched the object.
    pub patched: bool,
    /// The `managedFields` as they were before a webhook's patch reached them, if one did.
    pub managed_fields: Option<Value>,
    /// The JSON of the `managedFields` of a new object, as long as nobody had to read them: `object` has none then.
    pub owners: Option<Bytes>,
    /// The object as it is stored; null for CREATE and CONNECT.
    pub old_object: Value,
    /// When the request must be answered.
    pub deadline: tokio::time::Instant,
}

impl Attributes {
    /// Has the `managedFields` stand in the object, where they can be read and changed.
    pub(crate) fn settle_owners(&mut self) {
        if let Some(owners) = self.owners.take() {
            managers::put(&mut self.object, &owners);
        }
    }

    /// Makes the object what comes back from where it is written.
    pub(crate) fn write_empties(&mut self, medium: Medium) {
        if std::mem::take(&mut self.empties) {
            write_empties(&self.kind, &mut self.object, medium);
        }
    }
}
