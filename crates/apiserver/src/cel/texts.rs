//! Texts in the forms that schemas name, for those who read them outside of expressions.

use std::sync::LazyLock;

use regex::Regex;

use super::library::{formats, regular, urls::Url};
use super::types::Type;
use super::value::{Timestamp, Value, convert, parse_duration};

/// Compiles a pattern written for RE2.
///
/// # Errors
/// What is wrong with it, in Go's words where the reason is one of Go's.
pub(crate) fn pattern(text: &str) -> Result<Regex, String> {
    regular::compile(text).map_err(|failure| failure.to_string())
}

/// Whether a text is a day as OpenAPI's format `date` wants it.
pub(crate) fn is_date(text: &str) -> bool {
    formats::is_date(text)
}

/// Whether a text is a date and a time as OpenAPI's format `date-time` wants them.
pub(crate) fn is_date_time(text: &str) -> bool {
    formats::is_date_time(text)
}

/// Whether a text is a URL as a request names it.
pub(crate) fn is_request_url(text: &str) -> bool {
    Url::parse_request(text).is_ok()
}

/// The beginning of a day: `2026-11-22`.
pub(crate) fn date(text: &str) -> Option<Timestamp> {
    (text.len() == 10)
        .then(|| timestamp(&format!("{text}T00:00:00Z")))
        .flatten()
}

/// A point in time, in UTC where no zone is said; an empty text is the beginning of 1970.
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

/// Nanoseconds, written as Go writes durations (`1h30m`) or in words (`3 days`).
pub(crate) fn duration(text: &str) -> Option<i64> {
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
    if let Some(nanoseconds) = parse_duration(text) {
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
