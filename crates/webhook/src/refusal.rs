//! Answers to calls that cannot be judged: a Kubernetes `Status` with a sentence that says why.

use std::error::Error;

use http::{HeaderValue, Method, StatusCode};
use kubewright_review::ReadError;

use crate::Review;
use crate::verdict::reason_of;

/// A call that cannot be judged. The API server treats every one as a failed call, so `failurePolicy` decides.
#[derive(Debug)]
pub(crate) struct Refusal {
    code: StatusCode,
    message: String,
    uid: Option<String>,
}

impl Refusal {
    pub(crate) fn unknown_path(path: &str) -> Self {
        Self::new(404, format!("there is no webhook at {path}"))
    }

    pub(crate) fn method(method: &Method) -> Self {
        Self::new(
            405,
            format!("a webhook is called with POST, and this call was {method}"),
        )
    }

    pub(crate) fn content_type(found: Option<&HeaderValue>) -> Self {
        Self::new(
            415,
            match found {
                Some(found) => format!(
                    "a review has the content type application/json, and this one had {}",
                    String::from_utf8_lossy(found.as_bytes())
                ),
                None => "a review has the content type application/json, and this one had none"
                    .to_owned(),
            },
        )
    }

    pub(crate) fn slow_body() -> Self {
        Self::new(408, "the body did not arrive in time")
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(
            413,
            format!("the body is larger than the limit of {limit} bytes"),
        )
    }

    pub(crate) fn broken_body(cause: &(dyn Error + Send + Sync + 'static)) -> Self {
        tracing::debug!(error = cause, "a review's body broke off");
        Self::new(400, "the body broke off")
    }

    pub(crate) fn empty() -> Self {
        Self::new(400, "the body is empty")
    }

    pub(crate) fn unreadable(error: &ReadError) -> Self {
        Self::new(400, error.to_string())
    }

    pub(crate) fn undecodable(
        review: &Review,
        hook: &str,
        cause: &(dyn Error + Send + Sync + 'static),
    ) -> Self {
        tracing::error!(
            uid = review.uid(),
            hook,
            error = cause,
            "cannot read the object of a review"
        );
        Self::about(
            422,
            review,
            format!(
                "cannot read the object of the request {}: {cause}",
                review.uid()
            ),
        )
    }

    pub(crate) fn failed(
        review: &Review,
        hook: &str,
        cause: &(dyn Error + Send + Sync + 'static),
    ) -> Self {
        tracing::error!(uid = review.uid(), hook, error = cause, "a webhook failed");
        Self::about(
            500,
            review,
            format!(
                "the webhook could not judge the request {}; its log says why",
                review.uid()
            ),
        )
    }

    pub(crate) fn panicked(review: &Review, hook: &str) -> Self {
        tracing::error!(uid = review.uid(), hook, "a webhook panicked");
        Self::about(
            500,
            review,
            format!(
                "the webhook panicked on the request {}; its log says why",
                review.uid()
            ),
        )
    }

    pub(crate) fn deadline(review: &Review, hook: &str) -> Self {
        tracing::error!(
            uid = review.uid(),
            hook,
            "a webhook was stopped at its deadline"
        );
        Self::about(
            504,
            review,
            format!(
                "the webhook was stopped at the deadline of the request {}",
                review.uid()
            ),
        )
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

    fn new(code: u16, message: impl Into<String>) -> Self {
        Self {
            code: StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            message: message.into(),
            uid: None,
        }
    }

    fn about(code: u16, review: &Review, message: String) -> Self {
        Self {
            uid: Some(review.uid().to_owned()),
            ..Self::new(code, message)
        }
    }
}
