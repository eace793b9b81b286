//! What can be wrong with JSON, and where.

use std::fmt::{self, Display};

use serde::de;

/// What is wrong with a JSON text, and at which byte.
///
/// The text never repeats a value of the document, which may be secret.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JsonError {
    message: Box<str>,
    offset: Option<usize>,
}

impl JsonError {
    #[cold]
    pub(crate) fn new(message: impl Into<Box<str>>, offset: usize) -> Self {
        Self {
            message: message.into(),
            offset: Some(offset),
        }
    }

    /// Says where, unless that is known already.
    #[cold]
    pub(crate) fn or_at(mut self, offset: usize) -> Self {
        self.offset.get_or_insert(offset);
        self
    }

    pub(crate) fn offset(&self) -> usize {
        self.offset.unwrap_or(0)
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

impl Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "{} at byte {offset}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for JsonError {}

impl de::Error for JsonError {
    #[cold]
    fn custom<T: Display>(message: T) -> Self {
        Self {
            message: message.to_string().into(),
            offset: None,
        }
    }

    #[cold]
    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(format_args!("expected {expected}, found {}", what(found)))
    }

    #[cold]
    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(format_args!(
            "expected {expected}, found another {}",
            what(found)
        ))
    }

    #[cold]
    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format_args!(
            "expected one of `{}`, found another word",
            expected.join("`, `")
        ))
    }
}

fn what(found: de::Unexpected<'_>) -> &'static str {
    match found {
        de::Unexpected::Bool(_) => "boolean",
        de::Unexpected::Unsigned(_) | de::Unexpected::Signed(_) => "integer",
        de::Unexpected::Float(_) => "number",
        de::Unexpected::Str(_) | de::Unexpected::Char(_) => "string",
        de::Unexpected::Unit | de::Unexpected::Option => "null",
        de::Unexpected::Seq => "list",
        de::Unexpected::Map => "object",
        _ => "value",
    }
}
