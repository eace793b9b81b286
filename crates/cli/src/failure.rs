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

    /// An internal failure, which the user can neither cause nor resolve.
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
        json!({"kind": kind, "message": self.text(), "hints": self.hints})
    }

    /// The error and its causes. Many errors of libraries say their cause themselves, which is not said again.
    fn text(&self) -> String {
        let mut text = String::new();
        for cause in self.error.chain() {
            // It says the whole Status again as Rust writes it, and its own cause is the Status once more.
            let status = match cause.downcast_ref::<kube::Error>() {
                Some(kube::Error::Api(status)) => Some(&status.message),
                _ => None,
            };
            let cause = status.cloned().unwrap_or_else(|| cause.to_string());
            if text.is_empty() {
                text = cause;
            } else if !text.contains(&cause) {
                text.push_str(": ");
                text.push_str(&cause);
            }
            if status.is_some() {
                break;
            }
        }
        text
    }

    /// Adds what the person can do; it starts with a verb.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The lines to print: the error with its causes, then the hints.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("error: {}", self.text())];
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

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn what_an_error_says_of_its_cause_is_not_said_again() {
        let refused = || std::io::Error::other("connection refused");
        let inner =
            anyhow::Error::from(refused()).context("error sending request: connection refused");
        let failure = Failure::from(inner.context("reading the Namespace green"));
        assert_eq!(
            failure.lines(),
            ["error: reading the Namespace green: error sending request: connection refused"]
        );
    }

    #[test]
    fn a_status_of_the_api_server_is_said_in_its_words_alone() {
        let status = kube::core::Status::failure("pods is forbidden", "Forbidden");
        let error: Result<(), _> = Err(kube::Error::Api(status.boxed()));
        let failure = Failure::from(error.context("reading the Pod a").unwrap_err());
        assert_eq!(
            failure.lines(),
            ["error: reading the Pod a: pods is forbidden"]
        );
        assert_eq!(
            failure.json()["message"],
            "reading the Pod a: pods is forbidden"
        );
    }
}
