//! The string form of values.

use std::fmt;

use super::{Map, Value};

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Uint(value) => write!(f, "{value}"),
            Self::Double(value) => f.write_str(&format_double(*value)),
            Self::String(text) => f.write_str(text),
            Self::Bytes(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
            Self::Timestamp(time) => write!(f, "{time}"),
            Self::Duration(nanoseconds) => f.write_str(&super::duration::format(*nanoseconds)),
            Self::List(list) => {
                f.write_str("[")?;
                for (index, element) in list.iter().enumerate() {
                    let separator = if index > 0 { ", " } else { "" };
                    write!(f, "{separator}{element}")?;
                }
                f.write_str("]")
            }
            Self::Map(map) => display_map(f, map),
            Self::Optional(None) => f.write_str("optional.none()"),
            Self::Optional(Some(value)) => write!(f, "optional({value})"),
            Self::Type(of) => f.write_str(of.name()),
            Self::Object(_) | Self::Record(_) => f.write_str(self.type_name()),
            Self::Invalid(reason) => f.write_str(reason),
        }
    }
}

fn display_map(f: &mut fmt::Formatter<'_>, map: &Map<'_>) -> fmt::Result {
    f.write_str("{")?;
    for (index, (key, value)) in map.entries().iter().enumerate() {
        let separator = if index > 0 { ", " } else { "" };
        write!(f, "{separator}{key}: {value}")?;
    }
    f.write_str("}")
}

/// A floating point number as Go's `%g` writes it: the shortest digits, with an exponent below 1e-4
/// and from 1e+06 on.
pub(crate) fn format_double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
