//! What the calendar and the clock show for timestamps and durations.

use super::declaration::{Declaration, Evaluated, guarded};
use crate::failure::Failure;
use crate::value::{Timestamp, Value};

pub(super) const DECLARATIONS: &[Declaration] = &[
    guarded(
        "getFullYear",
        "timestamp_to_year",
        "timestamp.() -> int",
        full_year,
    ),
    guarded(
        "getFullYear",
        "timestamp_to_year_with_tz",
        "timestamp.(string) -> int",
        full_year,
    ),
    guarded(
        "getMonth",
        "timestamp_to_month",
        "timestamp.() -> int",
        month,
    ),
    guarded(
        "getMonth",
        "timestamp_to_month_with_tz",
        "timestamp.(string) -> int",
        month,
    ),
    guarded(
        "getDayOfYear",
        "timestamp_to_day_of_year",
        "timestamp.() -> int",
        day_of_year,
    ),
    guarded(
        "getDayOfYear",
        "timestamp_to_day_of_year_with_tz",
        "timestamp.(string) -> int",
        day_of_year,
    ),
    guarded(
        "getDayOfMonth",
        "timestamp_to_day_of_month",
        "timestamp.() -> int",
        day_of_month,
    ),
    guarded(
        "getDayOfMonth",
        "timestamp_to_day_of_month_with_tz",
        "timestamp.(string) -> int",
        day_of_month,
    ),
    guarded(
        "getDate",
        "timestamp_to_day_of_month_1_based",
        "timestamp.() -> int",
        date,
    ),
    guarded(
        "getDate",
        "timestamp_to_day_of_month_1_based_with_tz",
        "timestamp.(string) -> int",
        date,
    ),
    guarded(
        "getDayOfWeek",
        "timestamp_to_day_of_week",
        "timestamp.() -> int",
        day_of_week,
    ),
    guarded(
        "getDayOfWeek",
        "timestamp_to_day_of_week_with_tz",
        "timestamp.(string) -> int",
        day_of_week,
    ),
    guarded(
        "getHours",
        "timestamp_to_hours",
        "timestamp.() -> int",
        hours,
    ),
    guarded(
        "getHours",
        "timestamp_to_hours_with_tz",
        "timestamp.(string) -> int",
        hours,
    ),
    guarded("getHours", "duration_to_hours", "duration.() -> int", hours),
    guarded(
        "getMinutes",
        "timestamp_to_minutes",
        "timestamp.() -> int",
        minutes,
    ),
    guarded(
        "getMinutes",
        "timestamp_to_minutes_with_tz",
        "timestamp.(string) -> int",
        minutes,
    ),
    guarded(
        "getMinutes",
        "duration_to_minutes",
        "duration.() -> int",
        minutes,
    ),
    guarded(
        "getSeconds",
        "timestamp_to_seconds",
        "timestamp.() -> int",
        seconds,
    ),
    guarded(
        "getSeconds",
        "timestamp_to_seconds_tz",
        "timestamp.(string) -> int",
        seconds,
    ),
    guarded(
        "getSeconds",
        "duration_to_seconds",
        "duration.() -> int",
        seconds,
    ),
    guarded(
        "getMilliseconds",
        "timestamp_to_milliseconds",
        "timestamp.() -> int",
        milliseconds,
    ),
    guarded(
        "getMilliseconds",
        "timestamp_to_milliseconds_with_tz",
        "timestamp.(string) -> int",
        milliseconds,
    ),
    guarded(
        "getMilliseconds",
        "duration_to_milliseconds",
        "duration.() -> int",
        milliseconds,
    ),
];

fn civil<'a>(values: &[Value<'a>], show: fn(&crate::value::Civil) -> i64) -> Evaluated<'a> {
    let (time, zone) = time_and_zone(values)?;
    time.civil(zone).map(|civil| Value::Int(show(&civil)))
}

fn time_and_zone<'v>(values: &'v [Value<'_>]) -> Result<(Timestamp, Option<&'v str>), Failure> {
    match values {
        [Value::Timestamp(time)] => Ok((*time, None)),
        [Value::Timestamp(time), Value::String(zone)] => Ok((*time, Some(zone))),
        _ => Err(Failure::no_such_overload()),
    }
}

fn full_year<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    civil(values, |civil| civil.year)
}

fn month<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    civil(values, |civil| civil.month - 1)
}

fn day_of_year<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    civil(values, |civil| civil.day_of_year)
}

fn day_of_month<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    civil(values, |civil| civil.day - 1)
}

fn date<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    civil(values, |civil| civil.day)
}

fn day_of_week<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    civil(values, |civil| civil.weekday)
}

fn hours<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::Duration(nanoseconds)] => Ok(Value::Int(nanoseconds / 3_600_000_000_000)),
        _ => civil(values, |civil| civil.hour),
    }
}

fn minutes<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::Duration(nanoseconds)] => Ok(Value::Int(nanoseconds / 60_000_000_000)),
        _ => civil(values, |civil| civil.minute),
    }
}

fn seconds<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::Duration(nanoseconds)] => Ok(Value::Int(nanoseconds / 1_000_000_000)),
        _ => civil(values, |civil| civil.second),
    }
}

fn milliseconds<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    if let [Value::Duration(nanoseconds)] = values {
        return Ok(Value::Int(nanoseconds / 1_000_000));
    }
    let (time, zone) = time_and_zone(values)?;
    time.civil(zone)?;
    Ok(Value::Int(time.milliseconds_of_second()))
}
