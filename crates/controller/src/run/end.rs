//! The outcome of a reconcile, and what the retry needs to know about it.

use std::any::Any;
use std::error::Error as StdError;
use std::time::Duration;

use super::outcome::Outcome;
use crate::{Action, Error, RequestError};

/// How a reconcile has ended.
pub(super) enum End {
    Done(Action),
    Gone,
    Retry(Failure),
    Panicked(Failure),
    Terminal(String),
}

/// The failure of a reconcile that is retried.
pub(super) struct Failure {
    pub(super) error: String,
    /// The delay that the API server asks for (`Retry-After`).
    pub(super) wanted: Duration,
    /// Whether another client has changed the object meanwhile (409 Conflict).
    pub(super) is_conflict: bool,
}

impl End {
    pub(super) fn of_error(error: &Error) -> Self {
        if error.is_terminal() {
            return Self::Terminal(error.to_string());
        }
        let refused = refused(error);
        let wanted = refused.and_then(RequestError::retry_after);
        Self::Retry(Failure {
            error: error.to_string(),
            wanted: wanted.unwrap_or_default().min(LONGEST_WANTED),
            is_conflict: refused.is_some_and(RequestError::is_conflict),
        })
    }

    pub(super) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        Self::Panicked(Failure {
            error: format!("the reconciler panicked: {}", message(panic)),
            wanted: Duration::ZERO,
            is_conflict: false,
        })
    }

    pub(super) fn outcome(&self) -> Outcome {
        match self {
            Self::Done(action) if action.after().is_some() => Outcome::Again,
            Self::Done(_) => Outcome::Done,
            Self::Gone => Outcome::Gone,
            Self::Retry(_) => Outcome::Failed,
            Self::Panicked(_) => Outcome::Panicked,
            Self::Terminal(_) => Outcome::Terminal,
        }
    }
}

/// The request that failed, if that is what went wrong.
fn refused(error: &Error) -> Option<&RequestError> {
    let mut cause: &(dyn StdError + 'static) = error.cause();
    loop {
        match cause.downcast_ref() {
            Some(refused) => return Some(refused),
            None => cause = cause.source()?,
        }
    }
}

pub(super) fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

/// No API server is left alone for longer.
const LONGEST_WANTED: Duration = Duration::from_mins(1);
