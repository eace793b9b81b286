//! Why a call of a webhook has no reply.

use std::fmt::{self, Display};

/// A call without a reply.
///
/// Its text is what Go's client says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    text: String,
    code: Option<u16>,
}

impl CallError {
    pub(super) fn answered(code: u16, text: String) -> Self {
        let code = Some(code);
        Self { text, code }
    }

    /// The HTTP status code that the webhook answered, or its Status in the body; none where there is no whole answer.
    pub fn code(&self) -> Option<u16> {
        self.code
    }
}

impl From<String> for CallError {
    fn from(text: String) -> Self {
        Self { text, code: None }
    }
}

impl Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for CallError {}
