//! Conversions between types: `int(..)`, `string(..)` and their kin.

use std::sync::Arc;

use super::time::Unreadable;
use super::{Object, Timestamp, Value, duration, format_double};
use crate::failure::Failure;
use crate::types::Type;

/// The value as one of type `to`.
pub(crate) fn convert<'a>(value: &Value<'a>, to: &Type) -> Result<Value<'a>, Failure> {
    let converted = match (value, to) {
        (Value::Bool(_), Type::Bool)
        | (Value::Int(_), Type::Int)
        | (Value::Uint(_), Type::Uint)
        | (Value::Double(_), Type::Double)
        | (Value::String(_), Type::String)
        | (Value::Bytes(_), Type::Bytes)
        | (Value::Timestamp(_), Type::Timestamp)
        | (Value::Duration(_), Type::Duration) => value.clone(),
        (Value::Int(value), Type::Uint) => Value::Uint(uint(i128::from(*value))?),
        (Value::Uint(value), Type::Int) => Value::Int(int(i128::from(*value))?),
        (Value::Int(_) | Value::Uint(_), Type::Double) => Value::Double(as_double(value)),
        (Value::Double(value), Type::Int) => Value::Int(double_to_int(*value)?),
        (Value::Double(value), Type::Uint) => Value::Uint(double_to_uint(*value)?),
        (Value::Timestamp(time), Type::Int) => Value::Int(time.seconds()),
        (Value::Duration(nanoseconds), Type::Int) => Value::Int(*nanoseconds),
        (Value::Int(seconds), Type::Timestamp) => Timestamp::from_seconds(*seconds)
            .map(Value::Timestamp)
            .ok_or_else(|| Failure::new("timestamp overflow"))?,
        (Value::String(text), to) => return from_text(text, to),
        (Value::Bytes(bytes), Type::String) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::text(text),
            Err(_) => {
                return Err(Failure::new(
                    "invalid UTF-8 in bytes, cannot convert to string",
                ));
            }
        },
        (Value::Double(value), Type::String) => Value::text(format_double(*value)),
        (Value::Object(Object::Ip(_) | Object::Cidr(_)), Type::String) => object_text(value),
        (
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Timestamp(_)
            | Value::Duration(_)
            | Value::Type(_),
            Type::String,
        ) => Value::text(value.to_string()),
        _ => return Err(impossible(value, to)),
    };
    Ok(converted)
}

/// A whole number that a floating point number stands for exactly.
pub(super) fn whole(value: f64) -> Option<i64> {
    (value.fract() == 0.0)
        .then(|| double_to_int(value).ok())
        .flatten()
}

fn object_text<'a>(value: &Value<'a>) -> Value<'a> {
    match value {
        Value::Object(Object::Ip(address)) => Value::text(address.to_string()),
        Value::Object(Object::Cidr(network)) => Value::text(network.to_string()),
        other => Value::text(other.to_string()),
    }
}

fn from_text<'a>(text: &str, to: &Type) -> Result<Value<'a>, Failure> {
    let failed = || impossible(&Value::text(text), to);
    Ok(match to {
        Type::Int => Value::Int(text.parse().map_err(|_| failed())?),
        Type::Uint if text.starts_with('+') => return Err(failed()),
        Type::Uint => Value::Uint(text.parse().map_err(|_| failed())?),
        Type::Double => Value::Double(text_to_double(text).ok_or_else(failed)?),
        Type::Bool => match text {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Value::Bool(true),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Value::Bool(false),
            _ => return Err(failed()),
        },
        Type::Bytes => Value::Bytes(Arc::from(text.as_bytes())),
        Type::Duration => Value::Duration(duration::parse(text).ok_or_else(failed)?),
        Type::Timestamp => match Timestamp::parse(text) {
            Ok(time) => Value::Timestamp(time),
            Err(Unreadable::Range) => return Err(Failure::new("timestamp overflow")),
            Err(Unreadable::Text) => return Err(failed()),
        },
        _ => return Err(failed()),
    })
}

/// Parses a decimal number as Go's `strconv.ParseFloat` does.
fn text_to_double(text: &str) -> Option<f64> {
    let unsigned = text.trim_start_matches(['+', '-']);
    if unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        let value: f64 = text.parse().ok()?;
        return value.is_finite().then_some(value);
    }
    let known = ["inf", "infinity", "nan"]
        .iter()
        .any(|name| unsigned.eq_ignore_ascii_case(name));
    (known && text.len() - unsigned.len() <= 1)
        .then(|| text.parse().ok())
        .flatten()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the language rounds to the nearest double"
)]
fn as_double(value: &Value<'_>) -> f64 {
    match value {
        Value::Int(value) => *value as f64,
        Value::Uint(value) => *value as f64,
        _ => f64::NAN,
    }
}

fn int(value: i128) -> Result<i64, Failure> {
    i64::try_from(value).map_err(|_| Failure::new("integer overflow"))
}

fn uint(value: i128) -> Result<u64, Failure> {
    u64::try_from(value).map_err(|_| Failure::new("unsigned integer overflow"))
}

// The bounds themselves are refused as well, since not every integer near them is a double.
#[expect(clippy::cast_possible_truncation, reason = "the bounds are checked")]
fn double_to_int(value: f64) -> Result<i64, Failure> {
    if value > -9_223_372_036_854_775_808.0 && value < 9_223_372_036_854_775_808.0 {
        return Ok(value as i64);
    }
    Err(Failure::new("integer overflow"))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the bounds are checked"
)]
fn double_to_uint(value: f64) -> Result<u64, Failure> {
    if (0.0..18_446_744_073_709_551_616.0).contains(&value) {
        return Ok(value as u64);
    }
    Err(Failure::new("unsigned integer overflow"))
}

fn impossible(value: &Value<'_>, to: &Type) -> Failure {
    Failure::new(format!(
        "type conversion error from '{}' to '{}'",
        value.type_name(),
        to.name()
    ))
}
