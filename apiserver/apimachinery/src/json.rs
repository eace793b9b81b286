//! Reads and writes JSON as the API server does.
//!
//! ```
//! use kubewright_apimachinery::json;
//!
//! let parsed = json::parse(br#"{"spec": {"replicas": 1, "replicas": 2}}"#)?;
//! assert_eq!(parsed.value["spec"]["replicas"], 2);
//! assert_eq!(parsed.duplicates, [r#"duplicate field "spec.replicas""#]);
//!
//! let error = json::parse(b"{").unwrap_err();
//! assert_eq!(error.to_string(), "unexpected end of JSON input");
//! # Ok::<(), json::Malformed>(())
//! ```

mod duplicates;
mod indent;
mod literal;
pub mod order;
pub mod ordered;
mod plain;
mod read;
mod syntax;
mod write;

use serde_json::Value;

use crate::depth::{DEEPEST, DEEPEST_OWN};
pub use indent::{compact, indented};
pub use literal::number_as_written;
pub use write::{is_negative_zero, write, write_string};

use read::{Fault, read};

/// A decoded body.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "what a strict decoder of any format finds"
)]
pub struct Parsed {
    /// The value; of fields that stand twice, the last one.
    pub value: Value,
    /// What a strict decoder says of fields that stand twice, in its words: `duplicate field "spec.foo"`.
    pub duplicates: Vec<String>,
}

/// Why a body is not JSON, or not YAML, in the words of Go's decoders.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub(crate) String);

/// Reads one JSON value.
///
/// # Errors
///
/// The text of Go's `encoding/json`, such as `invalid character '}' looking for beginning of value`, when this is not JSON;
/// also when it is nested deeper than 127 levels.
pub fn parse(bytes: &[u8]) -> Result<Parsed, Malformed> {
    let read = match std::str::from_utf8(bytes) {
        Ok(text) => read(text, DEEPEST),
        // Go replaces what is no UTF-8.
        Err(_) => read(&String::from_utf8_lossy(bytes), DEEPEST),
    };
    match read {
        Ok((value, duplicates)) => Ok(Parsed {
            value,
            duplicates: duplicates.0,
        }),
        Err(fault) => {
            let error = syntax::first_error(bytes);
            Err(Malformed(error.unwrap_or_else(|| beyond_limits(fault))))
        }
    }
}

/// Reads JSON that [`ordered`] wrote, which may be nested a little deeper than a body, since `managedFields` repeat the nesting.
///
/// Returns `None` for anything else.
pub fn parse_own(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    read(text, DEEPEST_OWN).ok().map(|(value, _)| value)
}

/// The decoder's words for JSON that Go takes and this reader does not.
fn beyond_limits(fault: Fault) -> String {
    match fault {
        Fault::TooDeep(bracket) => format!("invalid character '{bracket}' exceeded max depth"),
        Fault::TooLarge | Fault::Syntax => "number out of range".to_owned(),
    }
}

#[cfg(test)]
mod tests;
