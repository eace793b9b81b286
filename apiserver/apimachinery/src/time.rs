//! Times as `metav1.Time` has them: whole seconds, UTC.

use jiff::{RoundMode, Timestamp, TimestampRound, Unit};

/// Returns the time of the clock, as it stands in metadata.
pub fn now() -> String {
    seconds(Timestamp::now())
}

/// Returns a time without the part of its second.
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
