//! Errors in the body of a webhook request.

use crate::json::JsonError;
use crate::printable;

/// The reason why a body is not a request that can be answered.
///
/// ```
/// use kubewright_review::{AdmissionReview, Body, ReadError};
///
/// let body = Body::new(br#"{"kind":"Pod","apiVersion":"v1"}"#.to_vec())?;
/// let error = AdmissionReview::read(&body).unwrap_err();
/// assert!(matches!(&error, ReadError::NotAReview { kind, .. } if kind == "Pod"));
/// # Ok::<(), ReadError>(())
/// ```
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// The body is not UTF-8.
    #[error("the body is not UTF-8 from byte {0} on")]
    NotUtf8(usize),
    /// The body is not JSON, or a field has another type than the protocol says.
    #[error("the body is not the JSON of an AdmissionReview: {0}")]
    NotJson(String),
    /// The body is JSON, but not an AdmissionReview of a version that is known.
    #[error(
        "the body is kind `{kind}` of `{api_version}`, not an AdmissionReview of `admission.k8s.io/v1` or `admission.k8s.io/v1beta1`"
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
    /// The request has no uid.
    #[error("the request of the AdmissionReview has no uid")]
    NoUid,
    /// The request has a uid that is no UID: it is too long, or has a control character.
    #[error(
        "the request of the AdmissionReview has a uid of {0} bytes that no API server sends: a UID has at most 256, and no control characters"
    )]
    Uid(usize),
    /// The request has no operation, or one that is not known.
    #[error(
        "the operation of the AdmissionReview's request is none of CREATE, UPDATE, DELETE and CONNECT"
    )]
    Operation,
}

impl From<JsonError> for ReadError {
    fn from(error: JsonError) -> Self {
        Self::NotJson(printable(&error.to_string()).to_string())
    }
}
