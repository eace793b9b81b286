//! Timestamps: from year 1 to 9999, to the nanosecond, with the offset they were written with.

use std::cmp::Ordering;
use std::fmt;

use jiff::tz::TimeZone;

use crate::failure::Failure;

/// A point in time of the years 1 to 9999, to the nanosecond, with the offset from UTC that it was written with.
///
/// It displays in RFC 3339, as `string(timestamp)` does in expressions.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp {
    seconds: i64,
    nanoseconds: u32,
    /// Seconds east of UTC; only the text shows it.
    offset: i32,
}

/// What a calendar shows for a timestamp at some place.
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) day_of_year: i64,
    pub(crate) weekday: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
}

impl Timestamp {
    /// Seconds since 1970; none outside the years 1 to 9999.
    pub(crate) fn from_seconds(seconds: i64) -> Option<Self> {
        Self::new(seconds, 0, 0)
    }

    fn new(seconds: i64, nanoseconds: u32, offset: i32) -> Option<Self> {
        (FIRST..=LAST).contains(&seconds).then_some(Self {
            seconds,
            nanoseconds,
            offset,
        })
    }

    pub(crate) fn seconds(self) -> i64 {
        self.seconds
    }

    pub(crate) fn milliseconds_of_second(self) -> i64 {
        i64::from(self.nanoseconds / 1_000_000)
    }

    pub(super) fn is_zero(self) -> bool {
        self.seconds == FIRST && self.nanoseconds == 0
    }

    pub(super) fn cmp_instant(&self, other: &Self) -> Ordering {
        (self.seconds, self.nanoseconds).cmp(&(other.seconds, other.nanoseconds))
    }

    fn total(self) -> i128 {
        i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanoseconds)
    }

    /// The timestamp so many nanoseconds later.
    pub(crate) fn plus(self, nanoseconds: i128) -> Result<Self, Failure> {
        let total = self.total() + nanoseconds;
        let seconds = i64::try_from(total.div_euclid(1_000_000_000)).ok();
        let rest = u32::try_from(total.rem_euclid(1_000_000_000)).unwrap_or(0);
        seconds
            .and_then(|seconds| Self::new(seconds, rest, self.offset))
            .ok_or_else(|| Failure::new("timestamp overflow"))
    }

    /// The nanoseconds from another timestamp to this one.
    pub(crate) fn minus(self, other: Self) -> Result<i64, Failure> {
        i64::try_from(self.total() - other.total()).map_err(|_| Failure::new("integer overflow"))
    }

    /// Reads RFC 3339 as Go does.
    pub(super) fn parse(text: &str) -> Result<Self, Unreadable> {
        let bytes = text.as_bytes();
        let number = |from: usize, length: usize| -> Option<i64> {
            let digits = bytes.get(from..from + length)?;
            digits.iter().all(u8::is_ascii_digit).then(|| {
                digits
                    .iter()
                    .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'))
            })
        };
        let fields = || {
            let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
            if separators
                .iter()
                .any(|(at, byte)| bytes.get(*at) != Some(byte))
            {
                return None;
            }
            Some([
                number(0, 4)?,
                number(5, 2)?,
                number(8, 2)?,
                number(11, 2)?,
                number(14, 2)?,
                number(17, 2)?,
            ])
        };
        let [year, month, day, hour, minute, second] = fields().ok_or(Unreadable::Text)?;
        let fits = (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60;
        if !fits {
            return Err(Unreadable::Text);
        }
        let mut rest = &text[19..];
        let mut nanoseconds = 0;
        if let Some(after) = rest.strip_prefix(['.', ',']) {
            let length = after.bytes().take_while(u8::is_ascii_digit).count();
            if length == 0 {
                return Err(Unreadable::Text);
            }
            let digits = format!("{:0<9}", &after[..length.min(9)]);
            nanoseconds = digits.parse().map_err(|_| Unreadable::Text)?;
            rest = &after[length..];
        }
        let offset = read_offset(rest).ok_or(Unreadable::Text)?;
        let days = days_from_civil(year, month, day);
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - i64::from(offset);
        Self::new(seconds, nanoseconds, offset).ok_or(Unreadable::Range)
    }

    /// What the calendar shows in a time zone: a name of the IANA database or an offset such as `-08:00`.
    pub(crate) fn civil(self, zone: Option<&str>) -> Result<Civil, Failure> {
        let offset = match zone {
            None | Some("UTC" | "") => 0,
            Some(zone) => self.offset_in(zone)?,
        };
        Ok(civil(self.seconds + offset))
    }

    fn offset_in(self, zone: &str) -> Result<i64, Failure> {
        let Some((hours, minutes)) = zone.split_once(':') else {
            let known = TimeZone::get(zone)
                .map_err(|_| Failure::new(format!("unknown time zone {zone}")))?;
            // The years beyond jiff's range use the rules that hold at its end.
            let seconds = self.seconds.clamp(JIFF_FIRST, JIFF_LAST);
            let instant = jiff::Timestamp::from_second(seconds)
                .map_err(|_| Failure::new("timestamp overflow"))?;
            return Ok(i64::from(known.to_offset(instant).seconds()));
        };
        let number = |text: &str| {
            text.parse::<i64>().map_err(|_| {
                Failure::new(format!("strconv.Atoi: parsing \"{text}\": invalid syntax"))
            })
        };
        let (hours, minutes) = (number(hours)?, number(minutes)?);
        let signed = if zone.starts_with('-') {
            -minutes
        } else {
            minutes
        };
        Ok(hours
            .saturating_mul(60)
            .saturating_add(signed)
            .saturating_mul(60)
            .clamp(-864_000, 864_000))
    }
}

/// Why a text is no timestamp.
pub(super) enum Unreadable {
    Text,
    Range,
}

/// RFC 3339 with as many decimals as are needed.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil {
            year,
            month,
            day,
            hour,
            minute,
            second,
            ..
        } = civil(self.seconds + i64::from(self.offset));
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
        )?;
        if self.nanoseconds > 0 {
            let decimals = format!("{:09}", self.nanoseconds);
            write!(f, ".{}", decimals.trim_end_matches('0'))?;
        }
        if self.offset == 0 {
            return f.write_str("Z");
        }
        let sign = if self.offset < 0 { '-' } else { '+' };
        let minutes = self.offset.abs() / 60;
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

fn read_offset(text: &str) -> Option<i32> {
    if text == "Z" {
        return Some(0);
    }
    let bytes = text.as_bytes();
    let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = bytes else {
        return None;
    };
    let two = |tens: u8, ones: u8| {
        (tens.is_ascii_digit() && ones.is_ascii_digit())
            .then(|| i32::from(tens - b'0') * 10 + i32::from(ones - b'0'))
    };
    let (hours, minutes) = (two(*h1, *h2)?, two(*m1, *m2)?);
    if hours > 24 || minutes > 60 {
        return None;
    }
    let seconds = (hours * 60 + minutes) * 60;
    Some(if *sign == b'-' { -seconds } else { seconds })
}

fn civil(seconds: i64) -> Civil {
    let days = seconds.div_euclid(86_400);
    let rest = seconds.rem_euclid(86_400);
    let (year, month, day) = civil_from_days(days);
    Civil {
        year,
        month,
        day,
        day_of_year: days - days_from_civil(year, 1, 1),
        weekday: (days + 4).rem_euclid(7),
        hour: rest / 3_600,
        minute: rest % 3_600 / 60,
        second: rest % 60,
    }
}

// Days since 1970 in the proleptic Gregorian calendar, counted in eras of 400 years that begin in March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// 0001-01-01T00:00:00Z.
const FIRST: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z.
const LAST: i64 = 253_402_300_799;
const JIFF_FIRST: i64 = -62_135_596_800;
const JIFF_LAST: i64 = 253_402_207_200;
