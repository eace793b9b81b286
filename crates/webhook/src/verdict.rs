//! The three outcomes of a review: allow, deny, fail.

use std::error::Error;
use std::fmt::{self, Display};

use kubewright_review::{Status, StatusCause};

/// What a validator says: allow, deny or fail.
pub type Validated = Result<(), Reject>;

/// What a mutator says: the object that it wants, deny or fail.
pub type Mutated<K> = Result<K, Reject>;

/// Why a change does not pass: it is denied, or it could not be judged.
///
/// Only [`deny`], [`OrDeny::or_deny`] and [`Denial`] deny. Every other error that crosses `?` is a *failure*: the API server is
/// told that the webhook failed, `failurePolicy` decides what that means, and the cause goes to the log alone.
#[derive(Debug)]
pub struct Reject(Box<Rejection>);

#[derive(Debug)]
pub(crate) enum Rejection {
    Denied(Denial, Option<Cause>),
    Failed(Cause),
}

pub(crate) type Cause = Box<dyn Error + Send + Sync>;

impl Reject {
    /// Fails for a cause that is not an [`Error`] itself, such as an `anyhow::Error` or a text.
    pub fn failed(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Box::new(Rejection::Failed(cause.into())))
    }

    /// The denial, if this is one.
    pub fn denial(&self) -> Option<&Denial> {
        match &*self.0 {
            Rejection::Denied(denial, _) => Some(denial),
            Rejection::Failed(_) => None,
        }
    }

    /// The cause of the failure, if this is one.
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

/// Denies the change, with the sentence that the person at `kubectl` reads.
///
/// # Errors
///
/// Always: this is how a handler denies.
pub fn deny<T>(message: impl Display) -> Result<T, Reject> {
    Err(Denial::new(message).into())
}

/// Fails the review: it could not be judged, and `failurePolicy` decides. The message goes to the log alone.
///
/// # Errors
///
/// Always: this is how a handler fails.
pub fn fail<T>(message: impl Display) -> Result<T, Reject> {
    Err(Reject::failed(message.to_string()))
}

/// Turns what is missing or wrong into a denial.
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

/// Why a change is denied, for the person at `kubectl`.
///
/// The API server passes the code, the reason and the causes on to the client. The code is 403 unless it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Denial {
    code: u16,
    reason: Option<String>,
    message: String,
    causes: Vec<StatusCause>,
}

impl Denial {
    /// Denies with a sentence.
    pub fn new(message: impl Display) -> Self {
        Self {
            code: 403,
            reason: None,
            message: message.to_string(),
            causes: Vec::new(),
        }
    }

    /// Names the field that is wrong, as in `spec.containers[0].image`.
    pub fn field(self, path: impl Display) -> Self {
        let message = self.message.clone();
        self.cause(path, message)
    }

    /// Adds something else that is wrong: the field, and a sentence about it.
    pub fn cause(mut self, field: impl Display, message: impl Display) -> Self {
        let mut cause = StatusCause::default();
        "FieldValueInvalid".clone_into(&mut cause.reason);
        cause.field = field.to_string();
        cause.message = message.to_string();
        self.causes.push(cause);
        self
    }

    /// Sets the HTTP status code that the client gets. The API server makes 400 of every code below 400.
    pub fn code(mut self, code: u16) -> Self {
        self.code = code;
        self
    }

    /// Sets the reason, a word for programs such as `Conflict`. It follows from the code unless it is set.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// The sentence.
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
