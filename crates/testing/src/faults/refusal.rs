//! Error responses of the API server.

use std::time::Duration;

use kubewright_apiserver::RequestInfo;
use serde_json::{Value, json};

/// An error response: a `Status` with the messages of the API server.
///
/// ```
/// use std::time::Duration;
/// use kubewright_testing::Refusal;
///
/// let busy = Refusal::too_many_requests().retry_after(Duration::from_secs(30));
/// let broken = Refusal::new(500, "InternalError", "etcd has no leader");
/// # let _ = (busy, broken);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Refusal {
    code: u16,
    reason: String,
    message: Message,
    cause: Option<(&'static str, &'static str)>,
    retry_after: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Message {
    Said(String),
    /// The API server's message about an object that another client has changed.
    Conflict,
}

impl Refusal {
    /// Returns a refusal with an HTTP status code, a reason such as `InternalError` (empty for none) and a message.
    ///
    /// ```
    /// use kubewright_testing::{Refusal, Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let refusal = Refusal::new(500, "InternalError", "etcd has no leader");
    /// cluster.faults().on(Requests::all()).once().answer(refusal);
    /// let error = cluster.client_under_test().apiserver_version().await.unwrap_err();
    /// let kube::Error::Api(status) = error else { panic!("{error}") };
    /// assert_eq!((status.code, &*status.message), (500, "etcd has no leader"));
    /// # });
    /// ```
    pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: Message::Said(message.into()),
            cause: None,
            retry_after: None,
        }
    }

    /// Returns 409 Conflict: the object has been changed since it was read.
    pub fn conflict() -> Self {
        Self {
            message: Message::Conflict,
            ..Self::new(409, "Conflict", "")
        }
    }

    /// 410: the API server has forgotten what came after this resource version, or this page.
    pub fn gone() -> Self {
        Self::new(410, "Expired", "too old resource version: 1 (2)")
    }

    /// Returns 504 Timeout: the resource version is newer than the newest of the API server, as after a backup was restored.
    ///
    /// ```
    /// use kubewright_testing::{Refusal, Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// cluster.faults().on(Requests::all()).once().answer(Refusal::too_new());
    /// let error = cluster.client_under_test().apiserver_version().await.unwrap_err();
    /// let kube::Error::Api(status) = error else { panic!("{error}") };
    /// let causes = status.details.unwrap().causes;
    /// assert_eq!(causes[0].reason, "ResourceVersionTooLarge");
    /// # });
    /// ```
    pub fn too_new() -> Self {
        Self {
            cause: Some(("ResourceVersionTooLarge", "Too large resource version")),
            ..Self::new(504, "Timeout", "Too large resource version: 2, current: 1")
        }
    }

    /// 429: the API server has too much to do.
    pub fn too_many_requests() -> Self {
        Self::new(
            429,
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later",
        )
        .retry_after(Duration::from_secs(1))
    }

    /// 503: the API server cannot serve now.
    pub fn unavailable() -> Self {
        Self::new(
            503,
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
        )
    }

    /// 500 within a watch: what an API server says to a streamed list whose etcd cannot tell how far it has got.
    pub fn no_watch_progress() -> Self {
        Self::new(
            500,
            "InternalError",
            "a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled",
        )
    }

    /// 422: what an API server says to a streamed list that does not know of them.
    pub fn streamed_lists_forbidden() -> Self {
        Self::new(
            422,
            "Invalid",
            "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for \
             watch unless the WatchList feature gate is enabled",
        )
    }

    /// Adds how long the client should wait, in whole seconds: the header `Retry-After` and `details.retryAfterSeconds`.
    ///
    /// A part of a second counts as a whole one.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use kubewright_testing::{Refusal, Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let busy = Refusal::too_many_requests().retry_after(Duration::from_millis(29_500));
    /// cluster.faults().on(Requests::all()).once().answer(busy);
    /// let error = cluster.client_under_test().apiserver_version().await.unwrap_err();
    /// let kube::Error::Api(status) = error else { panic!("{error}") };
    /// assert_eq!(status.details.unwrap().retry_after_seconds, 30);
    /// # });
    /// ```
    pub fn retry_after(mut self, pause: Duration) -> Self {
        self.retry_after = Some(
            pause
                .as_millis()
                .div_ceil(1000)
                .try_into()
                .unwrap_or(u64::MAX),
        );
        self
    }

    pub(crate) fn code(&self) -> u16 {
        self.code
    }

    pub(crate) fn seconds(&self) -> Option<u64> {
        self.retry_after
    }

    /// The `Status` that is the answer to a request.
    pub(crate) fn status(&self, request: &RequestInfo) -> Value {
        let RequestInfo {
            group,
            resource,
            name,
            ..
        } = request;
        let message = match &self.message {
            Message::Said(message) => message.clone(),
            Message::Conflict => {
                let qualified = match group.as_str() {
                    "" => resource.clone(),
                    group => format!("{resource}.{group}"),
                };
                format!(
                    "Operation cannot be fulfilled on {qualified} {name:?}: the object has been modified; please apply \
                     your changes to the latest version and try again"
                )
            }
        };
        let mut details = json!({});
        for (field, text) in [("name", name), ("group", group), ("kind", resource)] {
            if !text.is_empty() {
                details[field] = text.as_str().into();
            }
        }
        if let Some(seconds) = self.retry_after {
            details["retryAfterSeconds"] = seconds.into();
        }
        if let Some((reason, message)) = self.cause {
            details["causes"] = json!([{"reason": reason, "message": message}]);
        }
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": self.reason, "details": details, "code": self.code,
        })
    }

    /// The line of a watch that says it.
    pub(crate) fn line(&self, request: &RequestInfo) -> String {
        format!(
            "{}\n",
            json!({"type": "ERROR", "object": self.status(request)})
        )
    }
}
