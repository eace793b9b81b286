//! Versions of reviews.

use serde_json::Value;

/// The version of the review that is sent and expected back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the versions are Kubernetes' own")]
#[non_exhaustive]
pub enum ReviewVersion {
    V1,
    V1beta1,
}

impl ReviewVersion {
    /// The first version that this server knows; the others are ignored.
    pub fn preferred(versions: &Value) -> Option<Self> {
        let versions = versions.as_array()?;
        versions.iter().find_map(|version| match version.as_str() {
            Some("v1") => Some(Self::V1),
            Some("v1beta1") => Some(Self::V1beta1),
            _ => None,
        })
    }

    /// The name, such as `v1`.
    pub fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1beta1 => "v1beta1",
        }
    }
}
