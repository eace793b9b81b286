//! The formats of strings that Kubernetes knows: those that expressions name, and those of OpenAPI schemas.
//!
//! ```
//! use kubewright_cel::formats::{NamedFormat, parse_duration};
//!
//! let label = NamedFormat::named("dns1123Label").expect("a format of Kubernetes");
//! assert!(label.validate("web-1").is_empty());
//! assert!(label.validate("Web")[0].starts_with("a lowercase RFC 1123 label must consist of"));
//!
//! assert_eq!(parse_duration("1h30m"), Some(5_400_000_000_000));
//! ```

use std::sync::LazyLock;

use regex::Regex;

use crate::types::Type;
use crate::value::{Timestamp, Value, convert, parse_duration as parse_go_duration};

pub use crate::named_format::NamedFormat;

/// The timestamp of the beginning of a day: `2026-11-22`.
pub(crate) fn date(text: &str) -> Option<Timestamp> {
    (text.len() == 10)
        .then(|| timestamp(&format!("{text}T00:00:00Z")))
        .flatten()
}

/// A timestamp, in UTC if the string has no zone. The empty string is the beginning of 1970.
pub(crate) fn date_time(text: &str) -> Option<Timestamp> {
    if text.is_empty() {
        return Timestamp::from_seconds(0);
    }
    timestamp(text).or_else(|| timestamp(&format!("{text}Z")))
}

fn timestamp(text: &str) -> Option<Timestamp> {
    match convert(&Value::text(text), &Type::Timestamp) {
        Ok(Value::Timestamp(time)) => Some(time),
        _ => None,
    }
}

/// Reads a string in the format `duration` of OpenAPI schemas, and returns nanoseconds.
///
/// Such strings are Go's durations (`1h30m`) or counts with units (`3 days`, `2 wk`). Strings in neither form have no
/// duration. The function `duration(..)` of expressions takes Go's durations alone.
///
/// ```
/// use kubewright_cel::formats::parse_duration;
///
/// assert_eq!(parse_duration("1.5s"), Some(1_500_000_000));
/// assert_eq!(parse_duration("2 hours"), Some(7_200_000_000_000));
/// assert_eq!(parse_duration("soon"), None);
/// ```
pub fn parse_duration(text: &str) -> Option<i64> {
    const UNITS: [(&[&str], i64); 8] = [
        (&["ns", "nano"], 1),
        (&["us", "µs", "micro"], 1_000),
        (&["ms", "milli"], 1_000_000),
        (&["s", "sec"], 1_000_000_000),
        (&["m", "min"], 60_000_000_000),
        (&["h", "hr", "hour"], 3_600_000_000_000),
        (&["d", "day"], 86_400_000_000_000),
        (&["w", "wk", "week"], 604_800_000_000_000),
    ];
    static PART: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"([0-9]+)\s*([A-Za-zµ]+)").ok());
    if let Some(nanoseconds) = parse_go_duration(text) {
        return Some(nanoseconds);
    }
    let mut total = None;
    for found in PART.as_ref()?.captures_iter(text) {
        let count: i64 = found[1].parse().ok()?;
        let unit = found[2].to_lowercase();
        for (names, length) in UNITS {
            for (index, name) in names.iter().enumerate() {
                let is_last = index + 1 == names.len();
                if unit == *name || is_last && unit.starts_with(name) {
                    let more = count.wrapping_mul(length);
                    total = Some(total.unwrap_or(0_i64).wrapping_add(more));
                }
            }
        }
    }
    total
}
