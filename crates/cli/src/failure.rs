//! What went wrong, for the person at the terminal: one sentence, its causes, and what to do about it.

use std::fmt;

/// A failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    error: anyhow::Error,
    hints: Vec<String>,
}

impl Failure {
    /// A failure that is described by `text` alone.
    pub(crate) fn new(text: impl fmt::Display) -> Self {
        Self {
            error: anyhow::anyhow!("{text}"),
            hints: Vec::new(),
        }
    }

    /// Adds what the person can do; it starts with a verb.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The lines to print: the error with its causes, then the hints.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("error: {:#}", self.error)];
        lines.extend(self.hints.iter().map(|hint| format!("hint: {hint}")));
        lines
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            hints: Vec::new(),
        }
    }
}

/// What a command answers.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;
