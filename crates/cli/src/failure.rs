//! What went wrong, for the person at the terminal: one sentence, its causes, and what to do about it.

use std::fmt;

use serde_json::{Value, json};

/// A failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    error: anyhow::Error,
    hints: Vec<String>,
}

/// Whose failure it is, which the exit code says. What is wrong with the command line itself is clap's to say, with 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Something that the person at the terminal, or the world around, can change: 1.
    User,
    /// A defect of this program or of the machine: 70.
    Internal,
}

impl Kind {
    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::User => 1,
            Self::Internal => 70,
        }
    }
}

impl Failure {
    /// A failure that is described by `text` alone.
    pub(crate) fn new(text: impl fmt::Display) -> Self {
        Self {
            kind: Kind::User,
            error: anyhow::anyhow!("{text}"),
            hints: Vec::new(),
        }
    }

    /// A failure that nobody at the terminal has a part in.
    pub(crate) fn internal(error: impl Into<anyhow::Error>) -> Self {
        Self {
            kind: Kind::Internal,
            ..Self::from(error)
        }
    }

    /// Whose failure it is.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// The failure for programs.
    pub(crate) fn json(&self) -> Value {
        let kind = match self.kind {
            Kind::User => "user",
            Kind::Internal => "internal",
        };
        json!({"kind": kind, "message": format!("{:#}", self.error), "hints": self.hints})
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
            kind: Kind::User,
            error: error.into(),
            hints: Vec::new(),
        }
    }
}

/// What a command answers.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;
