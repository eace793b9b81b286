//! The request half of an AdmissionReview: the envelope read, the objects kept as text.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

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
    /// The version as `admissionReviewVersions` spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1Beta1 => "v1beta1",
        }
    }

    /// The group and version as `apiVersion` spells them.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "admission.k8s.io/v1",
            Self::V1Beta1 => "admission.k8s.io/v1beta1",
        }
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
    /// The operation as the wire and webhook rules spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "CREATE" => Self::Create,
            "UPDATE" => Self::Update,
            "DELETE" => Self::Delete,
            "CONNECT" => Self::Connect,
            _ => return None,
        })
    }
}

/// A group, version and kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct Kind {
    /// The group, empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

/// A group, version and plural resource name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct Resource {
    /// The group, empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural name.
    pub resource: String,
}

/// Why a body is not a request that can be answered.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// The body is not JSON.
    #[error("the body is not JSON: {0}")]
    NotJson(String),
    /// The body is JSON, but not an AdmissionReview of a version that is known.
    #[error(
        "the body is `{kind}` of `{api_version}`, not an AdmissionReview of admission.k8s.io/v1 or v1beta1"
    )]
    NotAReview {
        /// The `apiVersion` of the body.
        api_version: String,
        /// The `kind` of the body.
        kind: String,
    },
    /// The review has no request.
    #[error("the AdmissionReview has no request")]
    NoRequest,
    /// A field that every request has is missing or unknown.
    #[error("the AdmissionReview's {0}")]
    Incomplete(&'static str),
}

/// The request of an AdmissionReview: the envelope read, the objects kept as text.
#[derive(Debug)]
pub struct AdmissionReview {
    body: String,
    version: Version,
    uid: String,
    operation: Operation,
    kind: Kind,
    resource: Resource,
    sub_resource: String,
    request_kind: Kind,
    request_resource: Resource,
    request_sub_resource: String,
    name: String,
    namespace: String,
    dry_run: bool,
    user_info: Range<usize>,
    object: Range<usize>,
    old_object: Range<usize>,
    options: Range<usize>,
}

impl AdmissionReview {
    /// Reads the body of a webhook call.
    ///
    /// # Errors
    ///
    /// If the body is not a review that can be answered.
    pub fn read(body: Vec<u8>) -> Result<Self, ReadError> {
        let body =
            String::from_utf8(body).map_err(|error| ReadError::NotJson(error.to_string()))?;
        let wire: Wire<'_> =
            serde_json::from_str(&body).map_err(|error| ReadError::NotJson(error.to_string()))?;
        let version = match (&*wire.api_version, &*wire.kind) {
            ("admission.k8s.io/v1", "AdmissionReview") => Version::V1,
            ("admission.k8s.io/v1beta1", "AdmissionReview") => Version::V1Beta1,
            (api_version, kind) => {
                return Err(ReadError::NotAReview {
                    api_version: api_version.to_owned(),
                    kind: kind.to_owned(),
                });
            }
        };
        let request = wire.request.ok_or(ReadError::NoRequest)?;
        if request.uid.is_empty() {
            return Err(ReadError::Incomplete("request has no uid"));
        }
        let operation = Operation::parse(&request.operation).ok_or(ReadError::Incomplete(
            "request has no operation, or an unknown one",
        ))?;
        let span = |value: Option<&RawValue>| {
            value.map_or(0..0, |value| {
                let start = value.get().as_ptr() as usize - body.as_ptr() as usize;
                start..start + value.get().len()
            })
        };
        Ok(Self {
            version,
            uid: request.uid.into_owned(),
            operation,
            request_kind: request.request_kind.unwrap_or_else(|| request.kind.clone()),
            request_resource: request
                .request_resource
                .unwrap_or_else(|| request.resource.clone()),
            kind: request.kind,
            resource: request.resource,
            sub_resource: request.sub_resource.into_owned(),
            request_sub_resource: request.request_sub_resource.into_owned(),
            name: request.name.into_owned(),
            namespace: request.namespace.into_owned(),
            dry_run: request.dry_run.unwrap_or(false),
            user_info: span(request.user_info),
            object: span(request.object),
            old_object: span(request.old_object),
            options: span(request.options),
            body,
        })
    }

    /// The version of the protocol, which the answer has to have too.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The identity of this call.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// What the client asked for.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The kind of the objects in this review.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The resource as the webhook's rule names it.
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// The sub-resource, empty for the object itself.
    pub fn sub_resource(&self) -> &str {
        &self.sub_resource
    }

    /// The kind that the client sent, which can be of another version.
    pub fn request_kind(&self) -> &Kind {
        &self.request_kind
    }

    /// The resource that the client named, which can be of another version.
    pub fn request_resource(&self) -> &Resource {
        &self.request_resource
    }

    /// The sub-resource that the client named.
    pub fn request_sub_resource(&self) -> &str {
        &self.request_sub_resource
    }

    /// The object's name, empty while the API server has yet to generate it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The object's namespace, empty for objects of the cluster.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Whether nothing will be stored.
    pub fn dry_run(&self) -> bool {
        self.dry_run
    }

    /// The user as JSON, if there is one.
    pub fn user_info(&self) -> Option<&str> {
        self.text(&self.user_info)
    }

    /// The object as JSON, unless it is null.
    pub fn object(&self) -> Option<&str> {
        self.text(&self.object)
    }

    /// The stored object as JSON, unless it is null.
    pub fn old_object(&self) -> Option<&str> {
        self.text(&self.old_object)
    }

    /// The options of the request as JSON, unless they are null.
    pub fn options(&self) -> Option<&str> {
        self.text(&self.options)
    }

    fn text(&self, span: &Range<usize>) -> Option<&str> {
        Some(&self.body[span.clone()]).filter(|text| !text.is_empty() && *text != "null")
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    request: Option<WireRequest<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct WireRequest<'a> {
    #[serde(borrow)]
    uid: Cow<'a, str>,
    kind: Kind,
    resource: Resource,
    #[serde(borrow)]
    sub_resource: Cow<'a, str>,
    request_kind: Option<Kind>,
    request_resource: Option<Resource>,
    #[serde(borrow)]
    request_sub_resource: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    namespace: Cow<'a, str>,
    #[serde(borrow)]
    operation: Cow<'a, str>,
    #[serde(borrow)]
    user_info: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    old_object: Option<&'a RawValue>,
    dry_run: Option<bool>,
    #[serde(borrow)]
    options: Option<&'a RawValue>,
}
