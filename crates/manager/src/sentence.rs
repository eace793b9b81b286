//! An error with its chain of causes as one line.

use std::error::Error;

/// An error and its causes in one sentence.
pub(crate) fn sentence(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
