//! The words of the review protocol.

/// The version of the review protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Version {
    /// `admission.k8s.io/v1`.
    V1,
    /// `admission.k8s.io/v1beta1`, which API servers before 1.22 knew.
    V1Beta1,
}

impl Version {
    /// Returns the version as `admissionReviewVersions` spells it.
    ///
    /// ```
    /// use kubewright_review::Version;
    ///
    /// assert_eq!(Version::V1Beta1.as_str(), "v1beta1");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1Beta1 => "v1beta1",
        }
    }

    /// Returns the group and version as `apiVersion` spells them.
    ///
    /// ```
    /// use kubewright_review::Version;
    ///
    /// assert_eq!(Version::V1.api_version(), "admission.k8s.io/v1");
    /// ```
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "admission.k8s.io/v1",
            Self::V1Beta1 => "admission.k8s.io/v1beta1",
        }
    }

    pub(crate) fn parse(api_version: &str) -> Option<Self> {
        [Self::V1, Self::V1Beta1]
            .into_iter()
            .find(|version| version.api_version() == api_version)
    }
}

/// What the client asked the API server to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(
    clippy::exhaustive_enums,
    reason = "Kubernetes admits exactly these four operations"
)]
pub enum Operation {
    /// An object is created.
    Create,
    /// An object is updated or patched.
    Update,
    /// An object is deleted.
    Delete,
    /// A client connects to a sub-resource such as `pods/exec`.
    Connect,
}

impl Operation {
    /// Returns the operation as reviews and webhook rules spell it.
    ///
    /// ```
    /// use kubewright_review::Operation;
    ///
    /// assert_eq!(Operation::Create.as_str(), "CREATE");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Create, Self::Update, Self::Delete, Self::Connect]
            .into_iter()
            .find(|operation| operation.as_str() == text)
    }
}

/// A group, version and kind.
///
/// ```
#[doc = include_str!("request.md")]
/// let review = review("UPDATE", r#""kind":{"group":"apps","version":"v1","kind":"Deployment"}"#);
/// let kind = review.kind();
/// assert_eq!((kind.group, kind.version, kind.kind), ("apps", "v1", "Deployment"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct GroupVersionKind<'a> {
    /// The group, empty for the core group.
    pub group: &'a str,
    /// The version.
    pub version: &'a str,
    /// The kind.
    pub kind: &'a str,
}

/// A group, version and plural resource name.
///
/// ```
#[doc = include_str!("request.md")]
/// let review = review("DELETE", r#""resource":{"group":"","version":"v1","resource":"pods"}"#);
/// assert_eq!(review.resource().resource, "pods");
/// assert_eq!(review.resource().group, "", "Pods are in the core group");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct GroupVersionResource<'a> {
    /// The group, empty for the core group.
    pub group: &'a str,
    /// The version.
    pub version: &'a str,
    /// The plural name.
    pub resource: &'a str,
}
