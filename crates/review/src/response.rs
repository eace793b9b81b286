//! The response half of an AdmissionReview, written straight to one allocation.

use base64::Engine as _;
use serde::Serialize;

use crate::{Patch, Version};

/// Why a request is refused, as the client will see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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

/// One thing that was wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StatusCause {
    /// A word for programs, such as `FieldValueInvalid`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What people read.
    pub message: String,
    /// The path of the field.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

/// The answer to one request.
#[derive(Debug)]
#[must_use]
pub struct Response<'a> {
    version: Version,
    uid: &'a str,
    denial: Option<&'a Status>,
    patch: Option<&'a Patch>,
    warnings: &'a [String],
    audit_annotations: &'a [(String, String)],
}

impl<'a> Response<'a> {
    /// Starts an answer that allows the request.
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

    /// Denies the request.
    pub fn denied(mut self, status: &'a Status) -> Self {
        self.denial = Some(status);
        self
    }

    /// Changes the object. An empty patch changes nothing and is left out.
    pub fn patch(mut self, patch: &'a Patch) -> Self {
        self.patch = Some(patch).filter(|patch| !patch.is_empty());
        self
    }

    /// Warns the client.
    pub fn warnings(mut self, warnings: &'a [String]) -> Self {
        self.warnings = warnings;
        self
    }

    /// Annotates the audit event.
    pub fn audit_annotations(mut self, annotations: &'a [(String, String)]) -> Self {
        self.audit_annotations = annotations;
        self
    }

    /// The answer as the API server reads it.
    pub fn to_json(&self) -> Vec<u8> {
        let mut response = serde_json::json!({"uid": self.uid, "allowed": self.denial.is_none()});
        if let Some(denial) = self.denial {
            let mut status = serde_json::json!({"status": "Failure", "code": denial.code, "message": denial.message});
            if !denial.reason.is_empty() {
                status["reason"] = denial.reason.clone().into();
            }
            if !denial.causes.is_empty() {
                status["details"] = serde_json::json!({"causes": denial.causes});
            }
            response["status"] = status;
        }
        if let Some(patch) = self.patch {
            response["patchType"] = "JSONPatch".into();
            response["patch"] = base64::engine::general_purpose::STANDARD
                .encode(patch.as_str())
                .into();
        }
        if !self.warnings.is_empty() {
            response["warnings"] = self.warnings.into();
        }
        if !self.audit_annotations.is_empty() {
            response["auditAnnotations"] = self
                .audit_annotations
                .iter()
                .map(|(key, value)| (key.clone(), serde_json::Value::from(value.as_str())))
                .collect();
        }
        serde_json::json!({"apiVersion": self.version.api_version(), "kind": "AdmissionReview", "response": response})
            .to_string()
            .into_bytes()
    }
}
