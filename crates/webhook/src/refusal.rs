//! Answers to calls that cannot be judged: a Kubernetes `Status` with a sentence that says why.

use std::error::Error;

use http::{HeaderValue, Method, StatusCode};
use kubewright_review::{ConversionReadError, ReadError, printable};

use crate::verdict::reason_of;
use crate::{DeclarationError, Review};

/// A call that cannot be judged. The API server treats every one as a failed call, so `failurePolicy` decides.
#[derive(Debug)]
pub(crate) struct Refusal {
    code: StatusCode,
    message: String,
    uid: Option<String>,
}

impl Refusal {
    pub(crate) fn unusable(error: &DeclarationError) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("the webhooks cannot be served: {error}"),
        )
    }

    pub(crate) fn unknown_path<'a>(path: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let known = known.collect::<Vec<_>>().join(", ");
        Self::new(
            StatusCode::NOT_FOUND,
            format!(
                "there is no webhook at {}, only at {known}",
                printable(path)
            ),
        )
    }

    pub(crate) fn method(method: &Method) -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            format!("a webhook is called with POST, and this call was {method}"),
        )
    }

    pub(crate) fn content_type(found: Option<&HeaderValue>) -> Self {
        let found = match found {
            Some(found) => String::from_utf8_lossy(found.as_bytes()).into_owned(),
            None => "none".to_owned(),
        };
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!(
                "a review has the content type application/json, and this call had {}",
                printable(&found)
            ),
        )
    }

    pub(crate) fn content_encoding() -> Self {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "a review is sent as plain JSON, and this call had a content encoding",
        )
    }

    pub(crate) fn timeout(value: &str) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            format!(
                "reading the timeout in the query: `{}` is not a duration; pass one such as 10s or 500ms",
                printable(value)
            ),
        )
    }

    pub(crate) fn too_heavy(needed: usize, limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "the review takes about {} MiB of memory, and all large reviews together have {} MiB",
                needed.div_ceil(1 << 20),
                limit >> 20
            ),
        )
    }

    pub(crate) fn no_room() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "the reviews in progress left no memory for this one before its deadline",
        )
    }

    pub(crate) fn slow_body() -> Self {
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            "the body did not arrive before the deadline",
        )
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is larger than the limit of {limit} bytes"),
        )
    }

    pub(crate) fn broken_body(cause: &(dyn Error + 'static)) -> Self {
        tracing::debug!(error = cause, "the body of a review broke off");
        Self::new(StatusCode::BAD_REQUEST, "the body broke off")
    }

    pub(crate) fn empty() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "the body is empty")
    }

    pub(crate) fn unreadable(error: &ReadError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error.to_string())
    }

    pub(crate) fn no_conversion(error: &ConversionReadError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error.to_string())
    }

    pub(crate) fn unreadable_user(review: &Review) -> Self {
        Self::about(
            StatusCode::BAD_REQUEST,
            review,
            format!(
                "the userInfo of the AdmissionReview's request {} is not what the protocol says",
                review.uid()
            ),
        )
    }

    pub(crate) fn undecodable(review: &Review, hook: &str, message: &str) -> Self {
        tracing::error!(uid = review.uid(), hook, "{message}");
        Self::about(
            StatusCode::UNPROCESSABLE_ENTITY,
            review,
            format!("{message} (request {})", review.uid()),
        )
    }

    pub(crate) fn failed(review: &Review, hook: &str, cause: &(dyn Error + 'static)) -> Self {
        tracing::error!(uid = review.uid(), hook, error = cause, "a webhook failed");
        Self::about(
            StatusCode::INTERNAL_SERVER_ERROR,
            review,
            format!(
                "the webhook failed on request {}; its log says why",
                review.uid()
            ),
        )
    }

    pub(crate) fn panicked(review: &Review, hook: &str) -> Self {
        tracing::error!(uid = review.uid(), hook, "a webhook panicked");
        Self::about(
            StatusCode::INTERNAL_SERVER_ERROR,
            review,
            format!(
                "the webhook panicked on request {}; its log says why",
                review.uid()
            ),
        )
    }

    pub(crate) fn deadline(review: &Review, hook: &str) -> Self {
        tracing::error!(uid = review.uid(), hook, "a webhook reached its deadline");
        Self::about(
            StatusCode::GATEWAY_TIMEOUT,
            review,
            format!(
                "the webhook did not answer request {} before its deadline and was stopped",
                review.uid()
            ),
        )
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn code(&self) -> StatusCode {
        self.code
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        let mut status = serde_json::json!({
            "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code.as_u16(),
        });
        let reason = reason_of(self.code.as_u16());
        if !reason.is_empty() {
            status["reason"] = reason.into();
        }
        if let Some(uid) = &self.uid {
            status["details"] = serde_json::json!({"uid": uid});
        }
        status.to_string().into_bytes()
    }

    fn new(code: StatusCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            uid: None,
        }
    }

    fn about(code: StatusCode, review: &Review, message: String) -> Self {
        Self {
            uid: Some(review.uid().to_owned()),
            ..Self::new(code, message)
        }
    }
}
