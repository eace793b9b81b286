//! Why an evaluation failed: inside of it, and as callers see it.

use std::borrow::Cow;
use std::fmt;

use thiserror::Error;

/// Why an evaluation has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(
    clippy::exhaustive_enums,
    reason = "callers go on after a failure alone, and must tell it from a spent budget"
)]
pub enum EvaluationError {
    /// The expression failed. Others can still be evaluated.
    #[error("{message}")]
    Failed {
        /// The error in the words of cel-go, such as `no such key: spec`.
        message: String,
    },
    /// The expression costs more than one expression may.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostLimit,
    /// The total budget is spent: no further expression may be evaluated with it.
    #[error(
        "validation failed due to running out of cost budget, no further validation rules will be run"
    )]
    OutOfBudget,
}

/// Why an evaluation has no value.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// An error of the expression, which `&&` and `||` can absorb.
    Error(Cow<'static, str>),
    /// The expression costs too much; nothing absorbs this.
    CostLimit,
    /// cel-go panics, such as where it computes the cost; nothing absorbs this.
    Panic(Cow<'static, str>),
}

impl Failure {
    pub(crate) fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self::Error(message.into())
    }

    /// A pattern that RE2 does not accept; `at` is the part of it that the reason is about.
    pub(crate) fn invalid_pattern(reason: &str, at: &str) -> Self {
        Self::new(format!("error parsing regexp: {reason}: `{at}`"))
    }

    /// Whether the whole expression fails, whatever stands beside the part that did.
    pub(crate) fn is_fatal(&self) -> bool {
        !matches!(self, Self::Error(_))
    }

    /// What Go says of a value that it takes for a list.
    pub(crate) fn no_list(go_type: &str, missing: &str) -> Self {
        Self::Panic(
            format!(
                "interface conversion: {go_type} is not traits.Lister: missing method {missing}"
            )
            .into(),
        )
    }

    pub(crate) fn no_such_overload() -> Self {
        Self::new("no such overload")
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(message) => f.write_str(message),
            Self::CostLimit => EvaluationError::CostLimit.fmt(f),
            Self::Panic(message) => write!(f, "internal error: {message}"),
        }
    }
}
