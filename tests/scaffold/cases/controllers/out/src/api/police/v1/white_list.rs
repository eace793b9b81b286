//! The kind WhiteList in version v1.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Desired state of a WhiteList.
#[derive(Clone, Debug, Default, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "police.example.com",
    version = "v1",
    kind = "WhiteList",
    plural = "whitelists",
    namespaced,
    status = "WhiteListStatus",
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    doc = "Describe WhiteList here: `kubectl explain` shows this text."
)]
#[serde(rename_all = "camelCase")]
pub struct WhiteListSpec {
    /// An example field. Replace it with your own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foo: Option<String>,
}

/// Observed state of a WhiteList.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhiteListStatus {
    /// The `metadata.generation` that the controller has reconciled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Conditions, such as Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "kubewright::manifests::conditions")]
    pub conditions: Vec<Condition>,
}
