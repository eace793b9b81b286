//! The outcome of a reconcile, as metrics and traces name it.

/// Outcome of a reconcile.
///
/// ```
/// use kubewright_controller::Outcome;
///
/// let failures = [Outcome::Failed, Outcome::Panicked, Outcome::Terminal];
/// assert_eq!(failures.map(Outcome::as_str), ["failed", "panicked", "terminal"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It waits for a change.
    Done,
    /// It is to be done again at a time that it named.
    Again,
    /// The object is gone.
    Gone,
    /// It failed and is to be done again.
    Failed,
    /// It panicked and is to be done again.
    Panicked,
    /// It failed for good.
    Terminal,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 6] = [
        Self::Done,
        Self::Again,
        Self::Gone,
        Self::Failed,
        Self::Panicked,
        Self::Terminal,
    ];

    /// Returns the outcome as a word, for metrics and traces.
    ///
    /// ```
    /// use kubewright_controller::Outcome;
    ///
    /// assert_eq!(Outcome::Done.as_str(), "done");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Again => "again",
            Self::Gone => "gone",
            Self::Failed => "failed",
            Self::Panicked => "panicked",
            Self::Terminal => "terminal",
        }
    }

    pub(super) const fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Panicked | Self::Terminal)
    }
}
