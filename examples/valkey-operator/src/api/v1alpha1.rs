//! Valkeys in the first version, with other names for some fields.

#![expect(
    clippy::exhaustive_structs,
    reason = "users of a custom resource write down all of its fields"
)]

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::v1::{Backup, ValkeyStatus};

/// A Valkey cache, as it was first described.
#[derive(Clone, Debug, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "valkey.example.com",
    version = "v1alpha1",
    kind = "Valkey",
    plural = "valkeys",
    namespaced,
    status = "ValkeyStatus",
    derive = "PartialEq",
    deprecated = "valkey.example.com/v1alpha1 Valkey is deprecated; use valkey.example.com/v1"
)]
#[serde(rename_all = "camelCase")]
pub struct ValkeySpec {
    /// The version of Valkey.
    #[schemars(regex(pattern = r"^[0-9]{1,3}\.[0-9]{1,3}$"))]
    pub version: String,
    /// How many instances there are. It is `replicas` in v1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 9))]
    pub size: i32,
    /// The size of the volume of each instance. It is `storage.size` in v1.
    #[serde(default = "gibibyte")]
    #[schemars(regex(pattern = r"^[1-9][0-9]{0,5}(Mi|Gi|Ti)$"))]
    pub disk: String,
    /// The StorageClass of the volumes. It is `storage.className` in v1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<String>,
    /// After how many days the password is replaced. It is `password.rotateEveryDays` in v1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3650))]
    pub rotate_password_every_days: Option<i32>,
    /// Backups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<Backup>,
}

fn one() -> i32 {
    1
}

fn gibibyte() -> String {
    "1Gi".to_owned()
}
