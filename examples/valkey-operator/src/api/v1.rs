//! Valkeys in the version that the program works with.

#![expect(
    clippy::exhaustive_structs,
    reason = "users of a custom resource write down all of its fields"
)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Valkey cache: one primary, and replicas that copy it.
#[derive(Clone, Debug, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "valkey.example.com",
    version = "v1",
    kind = "Valkey",
    plural = "valkeys",
    namespaced,
    status = "ValkeyStatus",
    derive = "PartialEq",
    doc = "A Valkey cache: one primary, and replicas that copy it.",
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "Version", "type": "string", "jsonPath": ".status.version"}"#,
    printcolumn = r#"{"name": "Instances", "type": "integer", "jsonPath": ".status.readyInstances"}"#,
    printcolumn = r#"{"name": "Last Backup", "type": "date", "jsonPath": ".status.lastBackup"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ValkeySpec {
    /// The version of Valkey, such as `8.1`. It may become newer, one major version at a time.
    #[schemars(regex(pattern = r"^[0-9]{1,3}\.[0-9]{1,3}$"))]
    pub version: String,
    /// How many instances there are: the primary and its replicas.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 9))]
    pub replicas: i32,
    /// What each instance stores its data on.
    #[serde(default)]
    pub storage: Storage,
    /// The password of the clients, which is the key `password` of the Secret `NAME-password`.
    #[serde(default)]
    pub password: Password,
    /// Backups. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<Backup>,
}

/// What an instance stores its data on. It cannot change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Storage {
    /// The size of the volume.
    #[schemars(regex(pattern = r"^[1-9][0-9]{0,5}(Mi|Gi|Ti)$"))]
    pub size: String,
    /// The StorageClass of the volume. Default: that of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_name: Option<String>,
}

/// The password of the clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Password {
    /// After how many days the password is replaced. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3650))]
    pub rotate_every_days: Option<i32>,
}

/// Backups, each made by a Job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Backup {
    /// When backups are made, as in a CronJob: in UTC.
    #[schemars(length(min = 1, max = 100))]
    pub schedule: String,
    /// The claim of the volume that backups are written to.
    #[schemars(length(min = 1, max = 253))]
    pub claim: String,
    /// How many backups, and Jobs that have made them, are kept.
    #[serde(default = "seven")]
    #[schemars(range(min = 1, max = 100))]
    pub keep: i32,
    /// Also makes a backup before another version is installed, and installs it when the backup is complete.
    #[serde(default)]
    pub before_upgrade: bool,
    /// Also makes a backup when the Valkey is deleted, and keeps the instances until the backup is complete.
    #[serde(default)]
    pub before_deletion: bool,
}

/// What has become of a Valkey.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ValkeyStatus {
    /// The version that every instance runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How many instances are ready.
    pub ready_instances: i32,
    /// The time for which the last backup was made that is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "time")]
    pub last_backup: Option<Time>,
    /// `Ready`, `Progressing` and `BackedUp`.
    #[schemars(schema_with = "kubewright::manifests::conditions")]
    pub conditions: Vec<Condition>,
}

impl Default for Storage {
    fn default() -> Self {
        Self {
            size: "1Gi".to_owned(),
            class_name: None,
        }
    }
}

fn one() -> i32 {
    1
}

fn seven() -> i32 {
    7
}

fn time(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "format": "date-time"})
}
