//! WhiteList, as this version has it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a WhiteList asks for.
#[derive(Clone, Debug, Default, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "police.example.com",
    version = "v1beta1",
    kind = "WhiteList",
    plural = "whitelists",
    namespaced,
    status = "WhiteListStatus",
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    doc = "What a WhiteList is for: people read it in `kubectl explain`."
)]
#[serde(rename_all = "camelCase")]
pub struct WhiteListSpec {
    /// An example of a field: write here what you like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foo: Option<String>,
}

/// What has become of a WhiteList.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhiteListStatus {
    /// The generation of the object that this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What holds of it, such as Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "kubewright::manifests::conditions")]
    pub conditions: Vec<Condition>,
}
