//! Times: what Go's `metav1.Time` and `metav1.MicroTime` read, and what they write for it.

use std::borrow::Cow;
use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::Value;

use crate::types::Shape;

/// The zero time of a `metav1.Time`, where it differs from none.
pub const ZERO_TIME: &str = "0001-01-01T00:00:00Z";

/// The zero time of a `metav1.MicroTime`, where it differs from none.
pub const ZERO_MICRO_TIME: &str = "0001-01-01T00:00:00.000000Z";

/// How exact a kind of time is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Precision {
    /// `metav1.Time`.
    Seconds,
    /// `metav1.MicroTime`, which also wants all six digits when it reads.
    Micros,
}

/// What Go writes for a time.
pub(super) enum Canonical {
    /// The same text.
    Already,
    /// Another text.
    Text(String),
    /// Null: it is the zero time.
    Zero,
}

impl Precision {
    /// The zero time, as a client may write it.
    pub(super) fn zero(self) -> &'static str {
        match self {
            Self::Seconds => ZERO_TIME,
            Self::Micros => ZERO_MICRO_TIME,
        }
    }

    /// How exact the times of a shape are.
    pub(super) fn of(shape: &Shape) -> Option<Self> {
        match shape {
            Shape::Time => Some(Self::Seconds),
            Shape::MicroTime => Some(Self::Micros),
            _ => None,
        }
    }
}

/// What Go writes for the time that it reads from `text`.
///
/// # Errors
///
/// The text of Go's error, when this is no time.
pub(super) fn canonical(text: &str, precision: Precision) -> Result<Canonical, String> {
    let layout = match precision {
        Precision::Seconds => "2006-01-02T15:04:05Z07:00",
        Precision::Micros => "2006-01-02T15:04:05.000000Z07:00",
    };
    let failed = |why: Wrong<'_>| {
        let prefix = format!("parsing time {} as {}: ", quoted(text), quoted(layout));
        match why {
            Wrong::Element(rest, element) => {
                format!(
                    "{prefix}cannot parse {} as {}",
                    quoted(rest),
                    quoted(element)
                )
            }
            Wrong::Range(what) => format!("parsing time {}: {what} out of range", quoted(text)),
            Wrong::Behind(rest) => format!(
                "parsing time {}: extra text: {}",
                quoted(text),
                quoted(rest)
            ),
        }
    };
    let read = Read::of(text, precision).map_err(failed)?;
    if read.is_zero() {
        return Ok(Canonical::Zero);
    }
    let length = match precision {
        Precision::Seconds => "2006-01-02T15:04:05Z".len(),
        Precision::Micros => "2006-01-02T15:04:05.000000Z".len(),
    };
    if text.len() == length && text.ends_with('Z') {
        return Ok(Canonical::Already);
    }
    // Only Go reads hours of one digit.
    let padded;
    let text = if text.as_bytes().get(12) == Some(&b':') {
        padded = format!("{}0{}", &text[..11], &text[11..]);
        &padded
    } else {
        text
    };
    // What leaves the range of timestamps by its zone (the last hours of the year 9999) stays as it was written.
    let Ok(time) = text.parse::<Timestamp>() else {
        return Ok(Canonical::Already);
    };
    let format = match precision {
        Precision::Seconds => "%Y-%m-%dT%H:%M:%SZ",
        Precision::Micros => "%Y-%m-%dT%H:%M:%S.%6fZ",
    };
    Ok(Canonical::Text(time.strftime(format).to_string()))
}

/// The canonical text of a `metav1.Time` with the fraction that it was read with, which Go has in memory and does not write.
pub(super) fn with_fraction(canonical: &str, read: &str) -> String {
    let seconds = canonical.trim_end_matches('Z');
    let behind = read.split_once(['.', ',']).map_or("", |(_, behind)| behind);
    let digits = behind.bytes().take(9).take_while(u8::is_ascii_digit);
    let fraction = behind[..digits.count()].trim_end_matches('0');
    if fraction.is_empty() {
        return canonical.to_owned();
    }
    format!("{seconds}.{fraction}Z")
}

/// What Go writes for a `metav1.Time` that is in memory; none for the zero time.
///
/// ```
/// use kubewright_apimachinery::conform::written_time;
///
/// assert_eq!(written_time("2020-01-01T00:00:00.5Z").unwrap(), "2020-01-01T00:00:00Z");
/// assert_eq!(written_time("0001-01-01T00:00:00Z"), None);
/// ```
pub fn written_time(time: &str) -> Option<Cow<'_, str>> {
    match canonical(time, Precision::Seconds) {
        Ok(Canonical::Zero) => None,
        Ok(Canonical::Text(text)) => Some(text.into()),
        Ok(Canonical::Already) | Err(_) => Some(time.into()),
    }
}

/// Whether a value is a `metav1.Time` with a fraction, which is not written.
pub(super) fn has_unwritten(value: &Value, shape: &Shape) -> bool {
    matches!((shape, value), (Shape::Time, Value::String(text)) if text.contains('.'))
}

enum Wrong<'a> {
    /// The rest of the text, and the element of the layout that it does not begin with.
    Element(&'a str, &'static str),
    Range(&'static str),
    Behind(&'a str),
}

struct Read {
    date: (u32, u32, u32),
    clock: (u32, u32, u32),
    fraction: bool,
    offset: bool,
}

impl Read {
    /// Reads element by element, in the order of the layout, as Go does.
    fn of(text: &str, precision: Precision) -> Result<Self, Wrong<'_>> {
        let mut rest = text;
        let year = number(&mut rest, 4, "2006")?;
        literal(&mut rest, "-")?;
        let month = number(&mut rest, 2, "01")?;
        if !(1..=12).contains(&month) {
            return Err(Wrong::Range("month"));
        }
        literal(&mut rest, "-")?;
        let day = number(&mut rest, 2, "02")?;
        literal(&mut rest, "T")?;
        let hour = hour(&mut rest)?;
        if hour > 23 {
            return Err(Wrong::Range("hour"));
        }
        literal(&mut rest, ":")?;
        let minute = number(&mut rest, 2, "04")?;
        if minute > 59 {
            return Err(Wrong::Range("minute"));
        }
        literal(&mut rest, ":")?;
        let second = number(&mut rest, 2, "05")?;
        if second > 59 {
            return Err(Wrong::Range("second"));
        }
        let fraction = fraction(&mut rest, precision)?;
        let offset = zone(&mut rest)?;
        if !rest.is_empty() {
            return Err(Wrong::Behind(rest));
        }
        if day < 1 || day > days(year, month) {
            return Err(Wrong::Range("day"));
        }
        Ok(Self {
            date: (year, month, day),
            clock: (hour, minute, second),
            fraction,
            offset,
        })
    }

    fn is_zero(&self) -> bool {
        self.date == (1, 1, 1) && self.clock == (0, 0, 0) && !self.fraction && !self.offset
    }
}

fn number<'a>(rest: &mut &'a str, digits: usize, element: &'static str) -> Result<u32, Wrong<'a>> {
    let head = rest
        .get(..digits)
        .filter(|head| head.bytes().all(|byte| byte.is_ascii_digit()));
    let number = head.and_then(|head| head.parse().ok());
    match number {
        Some(number) => {
            *rest = &rest[digits..];
            Ok(number)
        }
        None => Err(Wrong::Element(rest, element)),
    }
}

/// Go takes an hour of one digit too.
fn hour<'a>(rest: &mut &'a str) -> Result<u32, Wrong<'a>> {
    let digits = rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
    number(rest, digits.max(1), "15")
}

fn literal<'a>(rest: &mut &'a str, text: &'static str) -> Result<(), Wrong<'a>> {
    match rest.strip_prefix(text) {
        Some(behind) => {
            *rest = behind;
            Ok(())
        }
        None => Err(Wrong::Element(rest, text)),
    }
}

/// Reads the fraction; true if it is not zero.
fn fraction<'a>(rest: &mut &'a str, precision: Precision) -> Result<bool, Wrong<'a>> {
    let separated = rest.strip_prefix(['.', ',']);
    let digits = separated.map_or("", |text| {
        let count = text.bytes().take_while(u8::is_ascii_digit).count();
        &text[..count]
    });
    match precision {
        Precision::Seconds if digits.is_empty() => return Ok(false),
        Precision::Seconds => *rest = &rest[1 + digits.len()..],
        Precision::Micros if digits.len() < 6 => return Err(Wrong::Element(rest, ".000000")),
        Precision::Micros => *rest = &rest[7..],
    }
    Ok(digits.bytes().any(|digit| digit != b'0'))
}

/// Reads the zone; true if it is not UTC.
fn zone<'a>(rest: &mut &'a str) -> Result<bool, Wrong<'a>> {
    if let Some(behind) = rest.strip_prefix('Z') {
        *rest = behind;
        return Ok(false);
    }
    let wrong = Wrong::Element(rest, "Z07:00");
    let Some(text) = rest.get(..6).filter(|text| text.starts_with(['+', '-'])) else {
        return Err(wrong);
    };
    let digits = |range| {
        let text: &str = text.get(range)?;
        text.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| text.parse::<u32>().ok())?
    };
    let (Some(hours), Some(minutes), Some(":")) = (digits(1..3), digits(4..6), text.get(3..4))
    else {
        return Err(wrong);
    };
    if hours > 24 {
        return Err(Wrong::Range("time zone offset hour"));
    }
    if minutes > 60 {
        return Err(Wrong::Range("time zone offset minute"));
    }
    *rest = &rest[6..];
    Ok(hours != 0 || minutes != 0)
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The way in which Go's time package quotes, byte by byte.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=b'~' => out.push(char::from(byte)),
            0x7f => out.push('\x7f'),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests;
