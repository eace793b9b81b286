//! Why a strategic merge patch does not apply, in the words of the API server.

use serde_json::{Map, Value};
use thiserror::Error;

use crate::go_text::{GoText, go_type};

/// Why a patch does not apply.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "either the client is to blame or it is not"
)]
pub enum StrategicError {
    /// The patch has a shape that its directive does not allow: the client is to blame, and told so.
    #[error("{0}")]
    Format(&'static str),
    /// Anything else, which the API server takes for a failure of its own.
    #[error("{0}")]
    Failed(String),
}

pub(super) type Result<T> = std::result::Result<T, StrategicError>;

pub(super) fn no_merge_key(map: Map<String, Value>, key: &str) -> StrategicError {
    let element = Value::Object(map);
    failed(format!(
        "map: {} does not contain declared merge key: {key}",
        GoText(&element)
    ))
}

pub(super) fn unknown_directive(word: &Value, map: Map<String, Value>) -> StrategicError {
    // Go's `%s` of what is no string.
    let word = match word {
        Value::String(word) => word.clone(),
        other => format!("%!s({}={})", go_type(other), GoText(other)),
    };
    let element = Value::Object(map);
    failed(format!(
        "unknown patch type: {word} in map: {}",
        GoText(&element)
    ))
}

pub(super) fn failed(text: impl Into<String>) -> StrategicError {
    StrategicError::Failed(text.into())
}

pub(super) fn wrong_type(expected: &str, found: &Value) -> StrategicError {
    let found = go_type(found);
    failed(format!("expected a {expected}, but received a {found}"))
}
