//! Schedules in cron form, and the times that they name.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

/// A schedule: sets of minutes, hours, days, months and weekdays, or a constant interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Schedule {
    Fields {
        minutes: u64,
        hours: u64,
        days: Days,
        months: u64,
    },
    Every(SignedDuration),
}

/// The days of a month and of a week: both have to match unless both are limited, when one of them is enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Days {
    of_month: u64,
    of_week: u64,
    any: bool,
}

const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Schedule {
    /// Reads a schedule; `None` if it has another form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let fields = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            _ => text,
        };
        if let Some(span) = fields.strip_prefix("@every ") {
            return interval(span).map(Self::Every);
        }
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let [minutes, hours, of_month, months, of_week] = fields.as_slice() else {
            return None;
        };
        let (minutes, _) = set(minutes, 0..=59, &[])?;
        let (hours, _) = set(hours, 0..=23, &[])?;
        let (of_month, any_of_month) = set(of_month, 1..=31, &[])?;
        let (months, _) = set(months, 1..=12, MONTHS)?;
        let (of_week, any_of_week) = set(of_week, 0..=6, WEEKDAYS)?;
        let days = Days {
            of_month,
            of_week,
            any: any_of_month || any_of_week,
        };
        Some(Self::Fields {
            minutes,
            hours,
            days,
            months,
        })
    }

    /// The first time after another one; `None` if there is none within five years.
    pub(super) fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let second = Timestamp::from_second(after.as_second()).ok()?;
        let (minutes, hours, days, months) = match self {
            Self::Every(interval) => return second.checked_add(*interval).ok(),
            Self::Fields {
                minutes,
                hours,
                days,
                months,
            } => (*minutes, *hours, days, *months),
        };
        let mut time = second.checked_add(1.second()).ok()?;
        let limit = time.to_zoned(zone.clone()).year() + 5;
        loop {
            let there = time.to_zoned(zone.clone());
            if there.year() > limit {
                return None;
            }
            let (minute, second) = (i64::from(there.minute()), i64::from(there.second()));
            time = if !has(months, there.month()) {
                let next = there.date().first_of_month().checked_add(1.month()).ok()?;
                next.to_zoned(zone.clone()).ok()?.timestamp()
            } else if !days.have(there.day(), there.weekday().to_sunday_zero_offset()) {
                let next = there.date().tomorrow().ok()?;
                next.to_zoned(zone.clone()).ok()?.timestamp()
            } else if !has(hours, there.hour()) {
                let left = 3600 - minute * 60 - second;
                time.checked_add(SignedDuration::from_secs(left)).ok()?
            } else if !has(minutes, there.minute()) || second > 0 {
                let left = 60 - second;
                time.checked_add(SignedDuration::from_secs(left)).ok()?
            } else {
                return Some(time);
            };
        }
    }
}

impl Days {
    fn have(&self, of_month: i8, of_week: i8) -> bool {
        let (month, week) = (has(self.of_month, of_month), has(self.of_week, of_week));
        if self.any {
            month && week
        } else {
            month || week
        }
    }
}

fn has(set: u64, member: i8) -> bool {
    u32::try_from(member).is_ok_and(|member| set & (1 << member) != 0)
}

/// Reads a field: its members, and whether it is `*`.
fn set(text: &str, range: std::ops::RangeInclusive<u32>, names: &[&str]) -> Option<(u64, bool)> {
    let number = |text: &str| {
        let lower = text.to_lowercase();
        let named = names.iter().position(|name| *name == lower);
        let named = named.and_then(|at| u32::try_from(at).ok());
        let number = named.map_or_else(|| text.parse().ok(), |at| Some(at + range.start()))?;
        range.contains(&number).then_some(number)
    };
    let (mut members, mut all) = (0, false);
    for part in text.split(',') {
        let (span, step) = match part.split_once('/') {
            Some((span, step)) => (span, Some(step.parse::<usize>().ok()?)),
            None => (part, None),
        };
        let (first, last) = match (span, span.split_once('-')) {
            ("*" | "?", _) => {
                all |= step.is_none_or(|step| step == 1);
                (*range.start(), *range.end())
            }
            (_, Some((first, last))) => (number(first)?, number(last)?),
            (_, None) => {
                let first = number(span)?;
                (first, if step.is_some() { *range.end() } else { first })
            }
        };
        if step == Some(0) || first > last {
            return None;
        }
        for member in (first..=last).step_by(step.unwrap_or(1)) {
            members |= 1 << member;
        }
    }
    Some((members, all))
}

/// Reads an interval such as `1h30m`: whole seconds, one at least.
fn interval(text: &str) -> Option<SignedDuration> {
    let mut seconds = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let (unit, factor) = [
            ("ns", 1e-9),
            ("us", 1e-6),
            ("µs", 1e-6),
            ("ms", 1e-3),
            ("s", 1.0),
            ("m", 60.0),
            ("h", 3600.0),
        ]
        .into_iter()
        .find(|(unit, _)| rest[digits..].starts_with(unit))?;
        seconds += number * factor;
        rest = &rest[digits + unit.len()..];
    }
    let duration = SignedDuration::try_from_secs_f64(seconds).ok()?;
    Some(SignedDuration::from_secs(duration.as_secs().max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str, zone: &str) -> String {
        let schedule = Schedule::parse(schedule).unwrap();
        let zone = TimeZone::get(zone).unwrap();
        schedule
            .next(after.parse().unwrap(), &zone)
            .map_or_else(|| "never".to_owned(), |time| time.to_string())
    }

    #[test]
    fn a_schedule_names_the_next_time_after_another() {
        for (schedule, after, expected) in [
            ("* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"),
            (
                "*/15 * * * *",
                "2026-01-01T00:14:59.5Z",
                "2026-01-01T00:15:00Z",
            ),
            (
                "30 6-16/4 * * 1-5",
                "2026-01-02T15:00:00Z",
                "2026-01-05T06:30:00Z",
            ),
            (
                "0 0 13 * fri",
                "2026-01-01T00:00:00Z",
                "2026-01-02T00:00:00Z",
            ),
            ("0 0 13 * *", "2026-01-14T00:00:00Z", "2026-02-13T00:00:00Z"),
            (
                "0 0 29 feb *",
                "2026-01-01T00:00:00Z",
                "2028-02-29T00:00:00Z",
            ),
            ("59 23 31 2 *", "2026-01-01T00:00:00Z", "never"),
            ("@daily", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
            (
                "@every 1h30m",
                "2026-01-01T00:00:00.9Z",
                "2026-01-01T01:30:00Z",
            ),
        ] {
            assert_eq!(next(schedule, after, "UTC"), expected, "{schedule}");
        }
    }

    #[test]
    fn a_time_zone_moves_a_schedule_and_skips_or_repeats_an_hour() {
        let zone = "America/New_York";
        for (schedule, after, expected) in [
            ("0 9 * * *", "2026-01-01T00:00:00Z", "2026-01-01T14:00:00Z"),
            // The hour after two does not exist on this day.
            ("30 2 * * *", "2026-03-08T05:00:00Z", "2026-03-09T06:30:00Z"),
            ("30 1 * * *", "2026-11-01T05:00:00Z", "2026-11-01T05:30:00Z"),
            // On this day it comes twice.
            ("30 1 * * *", "2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"),
        ] {
            assert_eq!(next(schedule, after, zone), expected, "{schedule} {after}");
        }
    }

    #[test]
    fn a_schedule_of_another_form_is_none() {
        for text in [
            "",
            "* * * *",
            "60 * * * *",
            "*/0 * * * *",
            "5-1 * * * *",
            "@often",
        ] {
            assert_eq!(Schedule::parse(text), None, "{text}");
        }
    }
}
