//! Times in the format of `metav1.Time`: whole seconds, UTC.

use jiff::{RoundMode, Timestamp, TimestampRound, Unit};

/// Returns the current time in the format of timestamps in metadata.
pub fn now() -> String {
    seconds(Timestamp::now())
}

/// Formats a time, truncated to whole seconds.
///
/// ```
/// use kubewright_apimachinery::time;
///
/// let time = "2024-05-01T12:00:00.987+02:00".parse()?;
/// assert_eq!(time::seconds(time), "2024-05-01T10:00:00Z");
/// # Ok::<(), jiff::Error>(())
/// ```
pub fn seconds(time: Timestamp) -> String {
    let whole = TimestampRound::new()
        .smallest(Unit::Second)
        .mode(RoundMode::Trunc);
    time.round(whole)
        .map_or_else(|_| time.to_string(), |time| time.to_string())
}
