//! The response half of an AdmissionReview, written straight to one allocation.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::json::write_string;
use crate::{Patch, Version};

/// The reason why a request is denied, as the client sees it.
///
/// ```
/// use kubewright_review::{Response, Status, Version};
///
/// let mut status = Status::default();
/// status.code = 403;
/// status.message = "the image is not pinned".to_owned();
/// let answer = Response::new(Version::V1, "7").denied(&status).to_json();
/// let answer: serde_json::Value = serde_json::from_slice(&answer)?;
/// assert_eq!(answer["response"]["status"]["message"], "the image is not pinned");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// What the client reads.
    pub message: String,
    /// A word for programs, empty for none.
    pub reason: String,
    /// What was wrong, field by field.
    pub causes: Vec<StatusCause>,
}

/// One error of a denied request.
///
/// ```
/// use kubewright_review::{Response, Status, StatusCause, Version};
///
/// let mut cause = StatusCause::default();
/// cause.field = "spec.replicas".to_owned();
/// cause.message = "at most 10".to_owned();
/// let mut status = Status::default();
/// status.causes.push(cause);
/// let answer = Response::new(Version::V1, "7").denied(&status).to_json();
/// let answer: serde_json::Value = serde_json::from_slice(&answer)?;
/// assert_eq!(answer["response"]["status"]["details"]["causes"][0]["field"], "spec.replicas");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatusCause {
    /// A word for programs, such as `FieldValueInvalid`.
    pub reason: String,
    /// What people read.
    pub message: String,
    /// The path of the field.
    pub field: String,
}

/// The answer to one request.
///
/// ```
/// use kubewright_review::{Response, Version};
///
/// let answer: serde_json::Value = serde_json::from_slice(&Response::new(Version::V1, "7").to_json())?;
/// assert_eq!(answer, serde_json::json!({
///     "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
///     "response": {"uid": "7", "allowed": true},
/// }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct Response<'a> {
    pub(crate) version: Version,
    pub(crate) uid: &'a str,
    denial: Option<&'a Status>,
    pub(crate) patch: Option<&'a Patch>,
    warnings: &'a [String],
    audit_annotations: &'a [(String, String)],
}

impl<'a> Response<'a> {
    /// Starts an answer that allows the request. The version and the UID are those of the request.
    ///
    /// ```
    /// use kubewright_review::{Response, Version};
    ///
    /// let answer: serde_json::Value = serde_json::from_slice(&Response::new(Version::V1Beta1, "7").to_json())?;
    /// assert_eq!(answer["apiVersion"], "admission.k8s.io/v1beta1");
    /// assert_eq!(answer["response"]["allowed"], true);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn new(version: Version, uid: &'a str) -> Self {
        Self {
            version,
            uid,
            denial: None,
            patch: None,
            warnings: &[],
            audit_annotations: &[],
        }
    }

    /// Denies the request. A denial has no patch.
    ///
    /// ```
    /// use kubewright_review::{Response, Status, Version};
    ///
    /// let status = Status::default();
    /// let answer = Response::new(Version::V1, "7").denied(&status).to_json();
    /// let answer: serde_json::Value = serde_json::from_slice(&answer)?;
    /// assert_eq!(answer["response"]["allowed"], false);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn denied(mut self, status: &'a Status) -> Self {
        self.denial = Some(status);
        self.patch = None;
        self
    }

    /// Changes the object. An empty patch changes nothing and is left out.
    ///
    /// ```
    /// use kubewright_review::{Patch, Response, Version};
    ///
    /// let unchanged = Patch::default();
    /// let answer = Response::new(Version::V1, "7").patch(&unchanged).to_json();
    /// let answer: serde_json::Value = serde_json::from_slice(&answer)?;
    /// assert!(answer["response"].get("patch").is_none());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn patch(mut self, patch: &'a Patch) -> Self {
        self.patch = Some(patch).filter(|patch| !patch.is_empty());
        self
    }

    /// Warns the client.
    ///
    /// ```
    /// use kubewright_review::{Response, Version};
    ///
    /// let warnings = ["the label `team` is missing".to_owned()];
    /// let answer = Response::new(Version::V1, "7").warnings(&warnings).to_json();
    /// let answer: serde_json::Value = serde_json::from_slice(&answer)?;
    /// assert_eq!(answer["response"]["warnings"][0], "the label `team` is missing");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn warnings(mut self, warnings: &'a [String]) -> Self {
        self.warnings = warnings;
        self
    }

    /// Annotates the audit event.
    ///
    /// ```
    /// use kubewright_review::{Response, Version};
    ///
    /// let annotations = [("images".to_owned(), "unpinned".to_owned())];
    /// let answer = Response::new(Version::V1, "7").audit_annotations(&annotations).to_json();
    /// let answer: serde_json::Value = serde_json::from_slice(&answer)?;
    /// assert_eq!(answer["response"]["auditAnnotations"]["images"], "unpinned");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn audit_annotations(mut self, annotations: &'a [(String, String)]) -> Self {
        self.audit_annotations = annotations;
        self
    }

    /// Returns the answer as the API server reads it.
    pub fn to_json(&self) -> Vec<u8> {
        let patch = self.patch.map(Patch::to_json).unwrap_or_default();
        let mut out = Vec::with_capacity(256 + self.uid.len() + patch.len().div_ceil(3) * 4);
        out.extend_from_slice(b"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"");
        out.extend_from_slice(self.version.api_version().as_bytes());
        out.extend_from_slice(b"\",\"response\":{\"uid\":");
        write_string(&mut out, self.uid);
        out.extend_from_slice(b",\"allowed\":");
        out.extend_from_slice(if self.denial.is_some() {
            b"false"
        } else {
            b"true"
        });
        if let Some(denial) = self.denial {
            write_status(&mut out, denial);
        }
        if !patch.is_empty() {
            out.extend_from_slice(b",\"patchType\":\"JSONPatch\",\"patch\":\"");
            let start = out.len();
            out.resize(start + patch.len().div_ceil(3) * 4, 0);
            // Base64 makes four bytes of three, rounded up, so there is room.
            let written = STANDARD.encode_slice(&patch, &mut out[start..]);
            debug_assert_eq!(written, Ok(out.len() - start));
            out.push(b'"');
        }
        write_list(&mut out, b",\"warnings\":[", self.warnings, write_warning);
        if !self.warnings.is_empty() {
            out.push(b']');
        }
        write_list(
            &mut out,
            b",\"auditAnnotations\":{",
            self.audit_annotations,
            write_annotation,
        );
        if !self.audit_annotations.is_empty() {
            out.push(b'}');
        }
        out.extend_from_slice(b"}}");
        out
    }
}

fn write_list<T>(out: &mut Vec<u8>, open: &[u8], items: &[T], write: fn(&mut Vec<u8>, &T)) {
    for (at, item) in items.iter().enumerate() {
        out.extend_from_slice(if at == 0 { open } else { b"," });
        write(out, item);
    }
}

#[expect(
    clippy::ptr_arg,
    reason = "lists of the answer are written through one function over their elements"
)]
fn write_warning(out: &mut Vec<u8>, warning: &String) {
    write_string(out, warning);
}

fn write_annotation(out: &mut Vec<u8>, (key, value): &(String, String)) {
    write_string(out, key);
    out.push(b':');
    write_string(out, value);
}

fn write_status(out: &mut Vec<u8>, status: &Status) {
    out.extend_from_slice(b",\"status\":{\"metadata\":{},\"status\":\"Failure\",\"message\":");
    write_string(out, &status.message);
    if !status.reason.is_empty() {
        out.extend_from_slice(b",\"reason\":");
        write_string(out, &status.reason);
    }
    write_list(
        out,
        b",\"details\":{\"causes\":[",
        &status.causes,
        write_cause,
    );
    if !status.causes.is_empty() {
        out.extend_from_slice(b"]}");
    }
    out.extend_from_slice(b",\"code\":");
    out.extend_from_slice(status.code.to_string().as_bytes());
    out.push(b'}');
}

fn write_cause(out: &mut Vec<u8>, cause: &StatusCause) {
    let fields = [
        ("reason", &cause.reason),
        ("message", &cause.message),
        ("field", &cause.field),
    ];
    out.push(b'{');
    for (at, (name, value)) in fields
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .enumerate()
    {
        if at > 0 {
            out.push(b',');
        }
        write_string(out, name);
        out.push(b':');
        write_string(out, value);
    }
    out.push(b'}');
}
