//! Values as Go prints them: the API server's messages are written with its `fmt`, `strconv` and `encoding/json`.
//!
//! ```
//! use kubewright_apimachinery::go_text::{GoText, format_double, quoted};
//! use serde_json::json;
//!
//! assert_eq!(quoted("a\u{7}\n"), r#""a\a\n""#);
//! assert_eq!(format_double(1e6), "1e+06");
//! assert_eq!(GoText(&json!({"b": [1, null]})).to_string(), "map[b:[1 <nil>]]");
//! ```

use std::fmt::{self, Display, Write as _};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// Quotes a text as Go's `%q` does: the API server's way to show strings in messages.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c if c.is_ascii() || is_printable(c) => out.push(c),
            c if (c as u32) < 0x1_0000 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => {
                let _ = write!(out, "\\U{:08x}", c as u32);
            }
        }
    }
    out.push('"');
    out
}

/// Whether Go prints a character as it is: letters, marks, numbers, punctuation and symbols.
pub fn is_printable(character: char) -> bool {
    static PRINTABLE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S}]$").expect("a constant pattern"));
    PRINTABLE.is_match(character.encode_utf8(&mut [0; 4]))
}

/// Escapes in JSON the characters that HTML knows, as Go's encoder does.
pub fn html_escaped(json: String) -> String {
    if !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return json;
    }
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// Formats a number as `%v` does in Go: the shortest digits, with an exponent below 1e-4 and from 1e+06 on. Expressions print
/// doubles by the same rule, which the crate of the language keeps for itself.
pub fn format_double(value: f64) -> String {
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

/// Shows a value as Go's `%v` does.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "the value is all there is")]
pub struct GoText<'a>(pub &'a Value);

impl Display for GoText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("<nil>"),
            Value::String(text) => f.write_str(text),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Number(number) => match number.as_f64().filter(|_| !number.is_i64()) {
                Some(float) => f.write_str(&format_double(float)),
                None => write!(f, "{number}"),
            },
            Value::Array(list) => {
                f.write_str("[")?;
                for (at, item) in list.iter().enumerate() {
                    let space = if at == 0 { "" } else { " " };
                    write!(f, "{space}{}", GoText(item))?;
                }
                f.write_str("]")
            }
            Value::Object(map) => {
                f.write_str("map[")?;
                for (at, (key, value)) in map.iter().enumerate() {
                    let space = if at == 0 { "" } else { " " };
                    write!(f, "{space}{key}:{}", GoText(value))?;
                }
                f.write_str("]")
            }
        }
    }
}

/// The Go type of a decoded value.
pub fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_look_as_go_prints_them() {
        let value = json!({"b": [1, "x y", null], "a": {"c": true}});
        assert_eq!(
            GoText(&value).to_string(),
            "map[a:map[c:true] b:[1 x y <nil>]]"
        );
        assert_eq!(GoText(&json!({})).to_string(), "map[]");
    }

    #[test]
    fn floats_look_as_go_prints_them() {
        for (float, text) in [
            (1.0, "1"),
            (1.5, "1.5"),
            (999_999.0, "999999"),
            (1e6, "1e+06"),
            (2_097_152.5, "2.0971525e+06"),
            (4_294_967_296.0, "4.294967296e+09"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e100, "1e+100"),
            (-12.25, "-12.25"),
        ] {
            assert_eq!(GoText(&json!(float)).to_string(), text);
        }
    }

    #[test]
    fn numbers_have_an_exponent_where_they_are_far_from_one() {
        for (value, text) in [
            (0.0, "0"),
            (-1.5, "-1.5"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (999_999.0, "999999"),
            (1e6, "1e+06"),
            (1.25e100, "1.25e+100"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(format_double(value), text);
        }
    }
}
