//! What names kinds and resources: group, version, and kind or plural name.

/// Group, version and kind of an object.
///
/// ```
/// use kubewright_apimachinery::meta::GroupVersionKind;
///
/// let kind = GroupVersionKind::from_api_version_and_kind("apps/v1", "Deployment");
/// assert_eq!((&*kind.group, &*kind.version), ("apps", "v1"));
/// assert_eq!(kind.api_version(), "apps/v1");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the three words are the whole idea"
)]
pub struct GroupVersionKind {
    /// The API group; empty for core.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The kind, such as `Pod`.
    pub kind: String,
}

impl GroupVersionKind {
    /// Reads what an object says of itself: its `apiVersion` and `kind`.
    pub fn from_api_version_and_kind(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// The `apiVersion` of its objects: `v1` or `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

/// Group, version and plural name of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the three words are the whole idea"
)]
pub struct GroupVersionResource {
    /// The API group; empty for core.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The plural name, such as `pods`.
    pub resource: String,
}
