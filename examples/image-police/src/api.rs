//! WhiteLists: which images may run in a namespace.

#![expect(
    clippy::exhaustive_structs,
    reason = "users of a custom resource write down all of its fields"
)]

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The images that may run in a namespace.
#[derive(Clone, Debug, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "police.foo.bar",
    version = "v1beta1",
    kind = "WhiteList",
    plural = "whitelists",
    namespaced,
    status = "WhiteListStatus",
    doc = "The images that may run in its namespace.",
    printcolumn = r#"{"name": "Images", "type": "integer", "jsonPath": ".status.images"}"#,
    printcolumn = r#"{"name": "Checked", "type": "integer", "jsonPath": ".status.checked"}"#,
    printcolumn = r#"{"name": "Refused", "type": "integer", "jsonPath": ".status.refused"}"#,
    printcolumn = r#"{"name": "Last Offender", "type": "string", "jsonPath": ".status.lastOffender.name"}"#,
    printcolumn = r#"{"name": "Image", "type": "string", "jsonPath": ".status.lastOffender.image", "priority": 1}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
pub struct WhiteListSpec {
    /// The images that may run.
    pub images: Vec<ListedImage>,
}

/// An image with the tags that may run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListedImage {
    /// The name as containers say it, with the registry if they name one, such as `nginx` or `reg:5000/app`.
    pub name: String,
    /// Tags, such as `latest`, and digests, such as `sha256:…`.
    pub tags: Vec<String>,
}

/// What has come of a WhiteList.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WhiteListStatus {
    /// How many images it lists: every tag of every name.
    #[schemars(with = "i64")]
    pub images: usize,
    /// How many Deployments of the namespace are held to it.
    #[schemars(with = "i64")]
    pub checked: usize,
    /// How many Deployments it has refused so far.
    #[schemars(with = "i64")]
    pub refused: usize,
    /// The Deployments that it refuses and that are there: those that are about to go or, in a dry run, are left alone.
    pub offenders: Vec<Offender>,
    /// The Deployment that was refused last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_offender: Option<Offender>,
}

/// A Deployment that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Offender {
    /// Its name.
    pub name: String,
    /// What tells it from another one of the same name.
    pub uid: String,
    /// The container that it was refused for.
    pub container: String,
    /// The image of that container.
    pub image: String,
}
