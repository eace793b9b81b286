//! WhiteList, as this version has it.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a WhiteList asks for.
#[derive(Clone, Debug, Default, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "police.example.com",
    version = "v1",
    kind = "WhiteList",
    plural = "whitelists",
    namespaced,
    doc = "What a WhiteList is for: people read it in `kubectl explain`."
)]
#[serde(rename_all = "camelCase")]
pub struct WhiteListSpec {
    /// An example of a field: write here what you like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foo: Option<String>,
}
