//! `format`: the clauses of a format string, and the strings that they make of values.

use std::fmt::Write as _;

use super::declaration::Evaluated;
use crate::failure::Failure;
use crate::quote::quoted;
use crate::types::Type;
use crate::value::{List, Map, Value};

/// What one `%` clause of a format asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    /// `%s`
    Text,
    /// `%d`
    Decimal,
    /// `%f` with its decimals
    Fixed(usize),
    /// `%e` with its decimals
    Scientific(usize),
    /// `%b`
    Binary,
    /// `%x`, or `%X` for capitals
    Hex(bool),
    /// `%o`
    Octal,
}

/// More decimals than any number has.
const MAX_DECIMALS: usize = 1_100;
const DEFAULT_DECIMALS: usize = 6;

impl Clause {
    /// Whether the checker lets a value of this type through.
    pub(crate) fn takes(self, of: &Type) -> bool {
        match self {
            Self::Text => !matches!(of, Type::Opaque(..) | Type::Object(_)),
            Self::Decimal | Self::Octal => matches!(of, Type::Int | Type::Uint),
            Self::Fixed(_) | Self::Scientific(_) => matches!(of, Type::Double | Type::String),
            Self::Binary => matches!(of, Type::Int | Type::Uint | Type::Bool),
            Self::Hex(_) => matches!(of, Type::Int | Type::Uint | Type::String | Type::Bytes),
        }
    }

    /// The error for a value of another type.
    pub(crate) fn refusal(self, given: &str) -> String {
        let rule = match self {
            Self::Text => {
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, \
                 durations, and timestamps"
            }
            Self::Decimal => "decimal clause can only be used on integers",
            Self::Fixed(_) => "fixed-point clause can only be used on doubles",
            Self::Scientific(_) => "scientific clause can only be used on doubles",
            Self::Binary => "only integers and bools can be formatted as binary",
            Self::Hex(_) => "only integers, byte buffers, and strings can be formatted as hex",
            Self::Octal => "octal clause can only be used on integers",
        };
        format!("{rule}, was given {given}")
    }

    fn apply(self, value: &Value<'_>) -> Result<String, String> {
        let refused = || self.refusal(value.type_name());
        Ok(match (self, value) {
            (Self::Text, value) if has_invalid_text(value) => {
                let why = "invalid UTF-8 in bytes, cannot convert to string";
                return Err(format!("could not convert argument \"{why}\" to string"));
            }
            (Self::Text, value) => text(value).ok_or_else(refused)?,
            (Self::Decimal, Value::Int(value)) => value.to_string(),
            (Self::Decimal, Value::Uint(value)) => value.to_string(),
            (Self::Fixed(decimals), value) => fixed(double(value).ok_or_else(refused)?, decimals),
            (Self::Scientific(decimals), value) => {
                scientific(double(value).ok_or_else(refused)?, decimals)
            }
            (Self::Binary, Value::Bool(value)) => u8::from(*value).to_string(),
            (Self::Binary, Value::Int(value)) => {
                signed(*value, |magnitude| format!("{magnitude:b}"))
            }
            (Self::Binary, Value::Uint(value)) => format!("{value:b}"),
            (Self::Octal, Value::Int(value)) => {
                signed(*value, |magnitude| format!("{magnitude:o}"))
            }
            (Self::Octal, Value::Uint(value)) => format!("{value:o}"),
            (Self::Hex(capitals), value) => {
                let hex = hex(value).ok_or_else(refused)?;
                if capitals {
                    hex.to_ascii_uppercase()
                } else {
                    hex
                }
            }
            _ => return Err(refused()),
        })
    }
}

/// The clauses of a format, in order.
pub(crate) fn clauses(format: &str) -> Result<Vec<Clause>, String> {
    let mut found = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            rest = after;
            continue;
        }
        let (clause, after) = clause(rest)?;
        found.push(clause);
        rest = after;
    }
    Ok(found)
}

/// Writes the values of a list as a format asks.
pub(super) fn format<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let [Value::String(format), Value::List(list)] = values else {
        return Err(Failure::no_such_overload());
    };
    write(format, list).map(Value::text).map_err(Failure::new)
}

fn write(format: &str, list: &List<'_>) -> Result<String, String> {
    let mut out = String::with_capacity(format.len());
    let mut rest = format;
    let mut index = 0;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let value = list
            .get(index)
            .ok_or_else(|| format!("index {index} out of range"))?;
        index += 1;
        let (clause, after) = clause(rest)?;
        let written = clause
            .apply(&value)
            .map_err(|error| format!("error during formatting: {error}"))?;
        out.push_str(&written);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// Reads the clause behind a `%`.
fn clause(rest: &str) -> Result<(Clause, &str), String> {
    if rest.is_empty() {
        return Err("unexpected end of string".to_owned());
    }
    let wrong = |reason: String| format!("could not parse formatting clause: {reason}");
    let (decimals, rest) = match rest.strip_prefix('.') {
        None => (DEFAULT_DECIMALS, rest),
        Some(after) => {
            let length = after.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, after) = after.split_at(length);
            if after.is_empty() {
                let reason = "could not find end of precision specifier";
                return Err(wrong(format!("error while parsing precision: {reason}")));
            }
            let decimals = digits.parse::<u32>().map_err(|_| {
                let reason = format!("strconv.Atoi: parsing \"{digits}\": invalid syntax");
                wrong(format!(
                    "error while parsing precision: error while converting precision to integer: {reason}"
                ))
            })?;
            (
                usize::try_from(decimals)
                    .unwrap_or(MAX_DECIMALS)
                    .min(MAX_DECIMALS),
                after,
            )
        }
    };
    let Some(letter) = rest.chars().next() else {
        return Err("unexpected end of string".to_owned());
    };
    let clause = match letter {
        's' => Clause::Text,
        'd' => Clause::Decimal,
        'f' => Clause::Fixed(decimals),
        'e' => Clause::Scientific(decimals),
        'b' => Clause::Binary,
        'x' => Clause::Hex(false),
        'X' => Clause::Hex(true),
        'o' => Clause::Octal,
        other => return Err(wrong(format!("unrecognized formatting clause \"{other}\""))),
    };
    Ok((clause, &rest[letter.len_utf8()..]))
}

/// A value as `%s` writes it.
fn text(value: &Value<'_>) -> Option<String> {
    Some(match value {
        Value::List(list) => list_text(list)?,
        Value::Map(map) => map_text(map)?,
        Value::Optional(_) | Value::Object(_) | Value::Record(_) | Value::Invalid(_) => {
            return None;
        }
        other => other.to_string(),
    })
}

/// Whether bytes are to be written as a text that they are not.
fn has_invalid_text(value: &Value<'_>) -> bool {
    match value {
        Value::Bytes(bytes) => std::str::from_utf8(bytes).is_err(),
        Value::List(list) => list.iter().any(|element| has_invalid_text(&element)),
        Value::Map(map) => map
            .entries()
            .iter()
            .any(|(_, value)| has_invalid_text(value)),
        _ => false,
    }
}

/// A value inside a list or a map.
fn nested(value: &Value<'_>) -> Option<String> {
    Some(match value {
        Value::String(text) => quoted(text),
        Value::Bytes(bytes) => format!("b{}", quoted(&String::from_utf8_lossy(bytes))),
        Value::Timestamp(time) => format!("timestamp(\"{time}\")"),
        Value::Duration(_) => format!("duration(\"{value}\")"),
        Value::Double(value) if value.is_finite() => format!("{value:.6}"),
        Value::Double(_) => format!("\"{value}\""),
        other => text(other)?,
    })
}

fn list_text(list: &List<'_>) -> Option<String> {
    let elements: Option<Vec<String>> = list.iter().map(|element| nested(&element)).collect();
    Some(format!("[{}]", elements?.join(", ")))
}

fn map_text(map: &Map<'_>) -> Option<String> {
    let mut entries = Vec::with_capacity(map.len());
    for (key, value) in map.entries() {
        entries.push((nested(&key)?, nested(&value)?));
    }
    entries.sort();
    let entries: Vec<String> = entries
        .iter()
        .map(|(key, value)| format!("{key}:{value}"))
        .collect();
    Some(format!("{{{}}}", entries.join(", ")))
}

fn double(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Double(value) => Some(*value),
        Value::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn special(value: f64) -> Option<String> {
    if value.is_nan() {
        return Some("NaN".to_owned());
    }
    value
        .is_infinite()
        .then(|| if value > 0.0 { "∞" } else { "-∞" }.to_owned())
}

/// Decimals with the thousands grouped, as American English writes numbers.
fn fixed(value: f64, decimals: usize) -> String {
    if let Some(text) = special(value) {
        return text;
    }
    let plain = format!("{:.decimals$}", unsigned_zero(value));
    let (sign, plain) = plain
        .strip_prefix('-')
        .map_or(("", &*plain), |plain| ("-", plain));
    let (whole, fraction) = plain
        .split_once('.')
        .map_or((plain, None), |(w, f)| (w, Some(f)));
    let mut grouped = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if let Some(fraction) = fraction {
        grouped.push('.');
        grouped.push_str(fraction);
    }
    grouped
}

/// Zero has no sign, though what is rounded to it has.
fn unsigned_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

/// `1.500000×10⁰³`, with two digits of exponent at least. cel-go takes the precision for the width.
fn scientific(value: f64, width: usize) -> String {
    if let Some(text) = special(value) {
        return format!("{text:>width$}");
    }
    let plain = format!("{:.6e}", unsigned_zero(value));
    let (digits, exponent) = plain.split_once('e').unwrap_or((&plain, "0"));
    let (sign, exponent) = exponent
        .strip_prefix('-')
        .map_or(("", exponent), |rest| ("⁻", rest));
    let raised: String = format!("{exponent:0>2}")
        .bytes()
        .filter_map(|digit| {
            ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'].get(usize::from(digit - b'0'))
        })
        .collect();
    let written = format!("{digits}×10{sign}{raised}");
    format!("{written:>width$}")
}

fn signed(value: i64, write: fn(u64) -> String) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", write(value.unsigned_abs()))
}

fn hex(value: &Value<'_>) -> Option<String> {
    let bytes = |bytes: &[u8]| {
        let mut out = String::with_capacity(2 * bytes.len());
        for byte in bytes {
            let _ = write!(out, "{byte:02x}");
        }
        out
    };
    Some(match value {
        Value::Int(value) => signed(*value, |magnitude| format!("{magnitude:x}")),
        Value::Uint(value) => format!("{value:x}"),
        Value::String(text) => bytes(text.as_bytes()),
        Value::Bytes(value) => bytes(value),
        _ => return None,
    })
}
