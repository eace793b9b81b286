//! What a reconcile comes to.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// What is to happen after a reconcile that went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Action {
    after: Option<Duration>,
}

impl Action {
    /// Nothing, until something changes.
    pub const fn await_change() -> Self {
        Self { after: None }
    }

    /// Another reconcile after a time, or sooner if something changes.
    pub const fn requeue_after(time: Duration) -> Self {
        Self { after: Some(time) }
    }

    pub(crate) fn after(self) -> Option<Duration> {
        self.after
    }
}

/// Why a reconcile did not go well.
///
/// Every error becomes one by `?`: the object is reconciled again, after a pause that doubles with each failure in a row.
/// What another try cannot mend is [`terminal`](Self::terminal).
pub struct Error {
    cause: Box<dyn StdError + Send + Sync>,
    is_terminal: bool,
}

impl Error {
    /// An error that stays until something changes: the object is left alone until then.
    pub fn terminal(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            cause: cause.into(),
            is_terminal: true,
        }
    }

    /// An error in words, after which the object is reconciled again.
    pub fn retry(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            cause: cause.into(),
            is_terminal: false,
        }
    }

    /// Returns whether the object is left alone until something changes.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Returns what went wrong.
    pub fn cause(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.cause
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for Error {
    fn from(cause: E) -> Self {
        Self::retry(cause)
    }
}

impl fmt::Display for Error {
    /// The error and what led to it, in one sentence: this type has no `source`, so that every error can become one.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.cause)?;
        let mut source = self.cause.source();
        while let Some(cause) = source {
            write!(formatter, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Error")
            .field("cause", &self.cause)
            .field("is_terminal", &self.is_terminal)
            .finish()
    }
}
