//! Why an object cannot be decoded as a type, without quoting its values.

use serde_json::error::Category;

/// An object cannot be decoded as the type that is asked for.
///
/// The message gives the position and never a value: serde's errors quote values, and this one is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at line {line}, column {column} of its JSON")]
pub(crate) struct Undecodable {
    what: &'static str,
    line: usize,
    column: usize,
}

impl From<serde_json::Error> for Undecodable {
    fn from(error: serde_json::Error) -> Self {
        Self::from(&error)
    }
}

impl From<&serde_json::Error> for Undecodable {
    fn from(error: &serde_json::Error) -> Self {
        Self {
            what: match error.classify() {
                Category::Io | Category::Eof => "it ends too early",
                Category::Syntax => "it is not JSON",
                Category::Data => "a value is not of its type, or is missing,",
            },
            line: error.line(),
            column: error.column(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_where_and_never_what() {
        let error = serde_json::from_str::<u8>(r#""hunter2""#).unwrap_err();
        assert!(
            error.to_string().contains("hunter2"),
            "that is why: {error}"
        );
        assert_eq!(
            Undecodable::from(error).to_string(),
            "a value is not of its type, or is missing, at line 1, column 9 of its JSON"
        );
    }
}
