//! The three outcomes of a review: allow, deny, fail.

use std::error::Error;
use std::fmt::{self, Display};

use kubewright_review::{Status, StatusCause};

/// The answer of a validator: allow (`Ok`), deny or fail.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_webhook::{Change, Review, Validated, deny};
///
/// async fn named(change: Change<Pod>, _: Review) -> Validated {
///     match change.object().metadata.name {
///         Some(_) => Ok(()),
///         None => deny("the pod has no name"),
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let rejected = named(Change::Create(Pod::default()), Review::in_namespace("blue")).await.unwrap_err();
/// assert_eq!(rejected.denial().unwrap().message(), "the pod has no name");
/// # }
/// ```
pub type Validated = Result<(), Reject>;

/// The answer of a mutator: the object to store, deny or fail.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_webhook::{Change, Mutated, Review};
///
/// async fn restart(change: Change<Pod>, _: Review) -> Mutated<Pod> {
///     let mut pod = change.into_object();
///     pod.spec.get_or_insert_default().restart_policy.get_or_insert("OnFailure".into());
///     Ok(pod)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let pod = restart(Change::Create(Pod::default()), Review::in_namespace("blue")).await.unwrap();
/// assert_eq!(pod.spec.unwrap().restart_policy.as_deref(), Some("OnFailure"));
/// # }
/// ```
pub type Mutated<K> = Result<K, Reject>;

/// The reason why a change does not pass: it is denied, or the handler failed.
///
/// Only [`deny`], [`OrDeny::or_deny`] and [`Denial`] deny. Every other error that crosses `?` is a *failure*: the API server
/// learns that the webhook failed, `failurePolicy` decides what that means, and the cause goes to the log alone.
///
/// ```
/// use kubewright_webhook::{Reject, deny};
///
/// fn port(text: &str) -> Result<u16, Reject> {
///     let port = text.parse()?; // A `ParseIntError` is a failure.
///     if port < 1024 { deny("the port is reserved") } else { Ok(port) }
/// }
///
/// assert!(port("80").unwrap_err().denial().is_some());
/// assert!(port("http").unwrap_err().failure().is_some());
/// ```
#[derive(Debug)]
pub struct Reject(Box<Rejection>);

#[derive(Debug)]
pub(crate) enum Rejection {
    Denied(Denial, Option<Cause>),
    Failed(Cause),
}

pub(crate) type Cause = Box<dyn Error + Send + Sync>;

impl Reject {
    /// Fails for a cause that is not an [`Error`] itself, such as an `anyhow::Error` or a string.
    ///
    /// ```
    /// use kubewright_webhook::Reject;
    ///
    /// fn quota(answer: Result<u32, String>) -> Result<u32, Reject> {
    ///     answer.map_err(Reject::failed)
    /// }
    ///
    /// let rejected = quota(Err("the quota service is down".into())).unwrap_err();
    /// assert_eq!(rejected.failure().unwrap().to_string(), "the quota service is down");
    /// ```
    pub fn failed(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Box::new(Rejection::Failed(cause.into())))
    }

    /// Returns the denial, or `None` if the handler failed.
    ///
    /// ```
    /// use kubewright_webhook::{Denial, Reject};
    ///
    /// let rejected = Reject::from(Denial::new("no").code(409));
    /// assert_eq!(rejected.denial(), Some(&Denial::new("no").code(409)));
    /// assert!(rejected.failure().is_none());
    /// ```
    pub fn denial(&self) -> Option<&Denial> {
        match &*self.0 {
            Rejection::Denied(denial, _) => Some(denial),
            Rejection::Failed(_) => None,
        }
    }

    /// Returns the cause of the failure, or `None` if the change is denied.
    ///
    /// ```
    /// use kubewright_webhook::Reject;
    ///
    /// let rejected = Reject::from(std::io::Error::other("connection reset"));
    /// assert_eq!(rejected.failure().unwrap().to_string(), "connection reset");
    /// assert!(rejected.denial().is_none());
    /// ```
    pub fn failure(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        match &*self.0 {
            Rejection::Denied(..) => None,
            Rejection::Failed(cause) => Some(&**cause),
        }
    }

    pub(crate) fn into_rejection(self) -> Rejection {
        *self.0
    }
}

impl From<Denial> for Reject {
    fn from(denial: Denial) -> Self {
        Self(Box::new(Rejection::Denied(denial, None)))
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Reject {
    fn from(cause: E) -> Self {
        Self::failed(cause)
    }
}

/// Denies the change, with the message that `kubectl` prints.
///
/// ```
/// use kubewright_webhook::{Validated, deny};
///
/// fn check(replicas: i32) -> Validated {
///     if replicas > 10 {
///         return deny(format_args!("{replicas} replicas are more than 10"));
///     }
///     Ok(())
/// }
///
/// let rejected = check(12).unwrap_err();
/// assert_eq!(rejected.denial().unwrap().message(), "12 replicas are more than 10");
/// ```
///
/// # Errors
///
/// Always: this is how a handler denies.
pub fn deny<T>(message: impl Display) -> Result<T, Reject> {
    Err(Denial::new(message).into())
}

/// Fails the review: the handler cannot decide, and `failurePolicy` does. The message goes to the log alone.
///
/// ```
/// use kubewright_webhook::{Validated, fail};
///
/// fn check(allowed: Option<bool>) -> Validated {
///     match allowed {
///         Some(_) => Ok(()),
///         None => fail("the policy is not loaded yet"),
///     }
/// }
///
/// let rejected = check(None).unwrap_err();
/// assert!(rejected.denial().is_none(), "the client does not see the message");
/// assert_eq!(rejected.failure().unwrap().to_string(), "the policy is not loaded yet");
/// ```
///
/// # Errors
///
/// Always: this is how a handler fails.
pub fn fail<T>(message: impl Display) -> Result<T, Reject> {
    Err(Reject::failed(message.to_string()))
}

/// Turns a missing value or an error into a denial.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_webhook::{OrDeny, Reject};
///
/// fn team(pod: &Pod) -> Result<&str, Reject> {
///     let labels = pod.metadata.labels.as_ref().or_deny("the pod has no labels")?;
///     Ok(labels.get("team").or_deny("the pod has no label `team`")?)
/// }
///
/// let rejected = team(&Pod::default()).unwrap_err();
/// assert_eq!(rejected.denial().unwrap().message(), "the pod has no labels");
/// ```
pub trait OrDeny<T> {
    /// Denies the change unless there is a value. What went wrong goes to the log alone.
    ///
    /// # Errors
    ///
    /// If there is no value.
    fn or_deny(self, message: impl Display) -> Result<T, Reject>;
}

impl<T> OrDeny<T> for Option<T> {
    fn or_deny(self, message: impl Display) -> Result<T, Reject> {
        self.ok_or_else(|| Denial::new(message).into())
    }
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> OrDeny<T> for Result<T, E> {
    fn or_deny(self, message: impl Display) -> Result<T, Reject> {
        self.map_err(|cause| {
            Reject(Box::new(Rejection::Denied(
                Denial::new(message),
                Some(cause.into()),
            )))
        })
    }
}

/// A denial, for the user at `kubectl`.
///
/// The API server passes the code, the reason and the causes on to the client. The code is 403 unless it is set.
///
/// ```
/// use kubewright_webhook::{Denial, Validated};
///
/// fn check(image: &str) -> Validated {
///     if image.ends_with(":latest") {
///         return Err(Denial::new("the image is not pinned").field("spec.containers[0].image").code(422).into());
///     }
///     Ok(())
/// }
///
/// assert_eq!(check("nginx:latest").unwrap_err().denial().unwrap().to_string(), "the image is not pinned");
/// assert!(check("nginx:1.29").is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Denial {
    code: u16,
    reason: Option<String>,
    message: String,
    causes: Vec<StatusCause>,
}

impl Denial {
    /// Denies with a message.
    pub fn new(message: impl Display) -> Self {
        Self {
            code: 403,
            reason: None,
            message: message.to_string(),
            causes: Vec::new(),
        }
    }

    /// Names the invalid field, as in `spec.containers[0].image`.
    ///
    /// The client gets it as a cause in `details.causes`:
    ///
    /// ```
    /// use kubewright_webhook::Denial;
    ///
    /// let denial = Denial::new("the image is not pinned").field("spec.containers[0].image");
    /// let same = Denial::new("the image is not pinned").cause("spec.containers[0].image", "the image is not pinned");
    /// assert_eq!(denial, same);
    /// ```
    pub fn field(self, path: impl Display) -> Self {
        let message = self.message.clone();
        self.cause(path, message)
    }

    /// Adds another error: the invalid field, and a message about it.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_webhook::{Change, Denial, Review, Validated, Webhooks, validating};
    /// use serde_json::json;
    #[doc = include_str!("call.md")]
    ///
    /// async fn limits(_: Change<Pod>, _: Review) -> Validated {
    ///     let denial = Denial::new("the pod has no limits");
    ///     Err(denial.cause("spec.containers[0].resources", "set limits.cpu").into())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let webhooks = Webhooks::new("policy.example.com").with(validating("limits", limits));
    /// let (_, response) = create(&webhooks, "/limits", json!({"apiVersion": "v1", "kind": "Pod"})).await;
    /// let cause = &response["status"]["details"]["causes"][0];
    /// assert_eq!(cause["field"], "spec.containers[0].resources");
    /// assert_eq!(cause["message"], "set limits.cpu");
    /// # }
    /// ```
    pub fn cause(mut self, field: impl Display, message: impl Display) -> Self {
        let mut cause = StatusCause::default();
        "FieldValueInvalid".clone_into(&mut cause.reason);
        cause.field = field.to_string();
        cause.message = message.to_string();
        self.causes.push(cause);
        self
    }

    /// Sets the HTTP status code that the client gets. The default is 403. The API server changes codes below 400 to 400.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_webhook::{Change, Denial, Review, Validated, Webhooks, validating};
    /// use serde_json::json;
    #[doc = include_str!("call.md")]
    ///
    /// async fn quota(_: Change<Pod>, _: Review) -> Validated {
    ///     Err(Denial::new("the team has 10 pods already").code(429).into())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let webhooks = Webhooks::new("policy.example.com").with(validating("quota", quota));
    /// let (_, response) = create(&webhooks, "/quota", json!({"apiVersion": "v1", "kind": "Pod"})).await;
    /// assert_eq!(response["status"]["code"], 429);
    /// assert_eq!(response["status"]["reason"], "TooManyRequests");
    /// # }
    /// ```
    pub fn code(mut self, code: u16) -> Self {
        self.code = code;
        self
    }

    /// Sets the machine-readable reason, such as `Conflict`. The default is the reason that Kubernetes gives for the code.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_webhook::{Change, Denial, Review, Validated, Webhooks, validating};
    /// use serde_json::json;
    #[doc = include_str!("call.md")]
    ///
    /// async fn frozen(_: Change<Pod>, _: Review) -> Validated {
    ///     Err(Denial::new("releases are frozen until Monday").reason("Frozen").into())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let webhooks = Webhooks::new("policy.example.com").with(validating("frozen", frozen));
    /// let (_, response) = create(&webhooks, "/frozen", json!({"apiVersion": "v1", "kind": "Pod"})).await;
    /// assert_eq!(response["status"]["reason"], "Frozen");
    /// # }
    /// ```
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn into_status(self) -> Status {
        let mut status = Status::default();
        status.code = self.code;
        status.reason = self
            .reason
            .unwrap_or_else(|| reason_of(self.code).to_owned());
        status.message = self.message;
        status.causes = self.causes;
        status
    }
}

impl Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The reason that Kubernetes gives for a status code; empty if it has none.
pub(crate) fn reason_of(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        406 => "NotAcceptable",
        409 => "Conflict",
        410 => "Gone",
        413 => "RequestEntityTooLarge",
        415 => "UnsupportedMediaType",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    }
}
