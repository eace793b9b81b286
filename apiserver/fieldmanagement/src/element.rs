//! One step of a path into an object.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::json::{is_negative_zero, write, write_string};
use serde_json::{Number, Value};

/// One step of a path into an object.
#[derive(Clone, Debug)]
pub(super) enum Element {
    /// A field of a struct, or a key of a map.
    Field(Cow<'static, str>),
    /// The item of a list that has these fields, which are sorted by name.
    Key(Vec<(Cow<'static, str>, Value)>),
    /// The item of a set.
    Value(Value),
    /// The item of any other list.
    Index(i64),
}

impl Element {
    /// Parses a path element of `fieldsV1`; none for a prefix that a later version may have introduced.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, String> {
        let Some(rest) = text.get(2..) else {
            return Err("key must be 2 characters long:".to_owned());
        };
        if text.as_bytes()[1] != b':' {
            return Err(format!("missing colon: {text}"));
        }
        let json = || {
            let value = serde_json::from_str::<Value>(rest).map_err(|error| error.to_string());
            value.map(as_read)
        };
        Ok(match text.as_bytes()[0] {
            b'f' => Some(Self::Field(Cow::Owned(rest.to_owned()))),
            b'v' => Some(Self::Value(json()?)),
            b'k' => match json()? {
                // A map has its keys in order.
                Value::Object(fields) => {
                    let fields = fields.into_iter();
                    let owned = fields.map(|(name, value)| (Cow::Owned(name), as_read(value)));
                    Some(Self::Key(owned.collect()))
                }
                other => return Err(format!("a key is an object, not {other}")),
            },
            b'i' => Some(Self::Index(
                rest.parse().map_err(|_| format!("no index: {rest}"))?,
            )),
            _ => None,
        })
    }

    /// Formats the path element for `fieldsV1`.
    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Field(name) => ["f:", name].concat(),
            Self::Value(value) => prefixed("v:", |text| write_value(text, value)),
            Self::Index(at) => format!("i:{at}"),
            Self::Key(fields) => prefixed("k:{", |text| {
                for (at, (name, value)) in fields.iter().enumerate() {
                    if at > 0 {
                        text.push(b',');
                    }
                    write_string(text, name);
                    text.push(b':');
                    write_value(text, value);
                }
                text.push(b'}');
            }),
        }
    }
}

/// Upstream reads numbers here as floating ones: what is too large to be one is not what it was, even where nothing changes.
fn as_read(value: Value) -> Value {
    match value.as_i64() {
        Some(number) if number.unsigned_abs() > 1 << f64::MANTISSA_DIGITS => {
            #[expect(clippy::cast_precision_loss, reason = "it is lost upstream, too")]
            let number = number as f64;
            number.into()
        }
        None if value.is_u64() => value.as_f64().into(),
        _ => value,
    }
}

/// Go writes the exponents of numbers here with two digits, and the sign of a negative zero, unlike those of objects.
fn write_value(text: &mut Vec<u8>, value: &Value) {
    let start = text.len();
    if is_negative_zero(value) {
        text.extend_from_slice(b"-0");
        return;
    }
    write(text, value);
    if value.is_f64()
        && let [.., b'e', b'-' | b'+', digit] = text[start..]
    {
        text.pop();
        text.extend([b'0', digit]);
    }
}

/// The form of error messages: `.spec`, `[name="web"]`, `[="a"]`.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Value(value) => write!(f, "[={}]", shown(value)),
            Self::Index(at) => write!(f, "[{at}]"),
            Self::Key(fields) => {
                let fields: Vec<_> = fields
                    .iter()
                    .map(|(name, value)| format!("{name}={}", shown(value)))
                    .collect();
                write!(f, "[{}]", fields.join(","))
            }
        }
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => {
                let pairs = a.iter().zip(b).map(|((name, value), (other, wanted))| {
                    name.cmp(other).then_with(|| compare_values(value, wanted))
                });
                first_difference(pairs).then_with(|| a.len().cmp(&b.len()))
            }
            (Self::Value(a), Self::Value(b)) => compare_values(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl Element {
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Element {}

/// Total order of values: numbers, strings, booleans, lists, maps, null.
fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            first_difference(a.iter().zip(b).map(|(a, b)| compare_values(a, b)))
                .then_with(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let pairs = a.iter().zip(b).map(|((name, value), (other, wanted))| {
                name.cmp(other).then_with(|| compare_values(value, wanted))
            });
            first_difference(pairs).then_with(|| a.len().cmp(&b.len()))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return a.cmp(&b);
    }
    let float = |number: &Number| number.as_f64().unwrap_or_default();
    // Zeros of either sign are equal.
    float(a).partial_cmp(&float(b)).unwrap_or(Ordering::Equal)
}

/// Whether two values are equal; `1` equals `1.0`.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    compare_values(a, b).is_eq()
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn first_difference(mut pairs: impl Iterator<Item = Ordering>) -> Ordering {
    pairs.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(shown).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|(name, value)| format!("{name}={}", shown(value)))
                .collect();
            members.concat()
        }
        other => other.to_string(),
    }
}

fn prefixed(prefix: &str, json: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut text = Vec::with_capacity(64);
    text.extend_from_slice(prefix.as_bytes());
    json(&mut text);
    String::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exponent_has_two_digits() {
        for (read, written) in [
            ("v:1e-7", "v:1e-07"),
            ("v:1.5e-7", "v:1.5e-07"),
            ("v:1e-10", "v:1e-10"),
            ("v:0.1", "v:0.1"),
            ("v:-0.0", "v:-0"),
            ("v:-0", "v:-0"),
            ("v:9007199254740993", "v:9007199254740992"),
            ("v:9223372036854775807", "v:9223372036854776000"),
            ("v:9223372036854775808", "v:9223372036854776000"),
            (
                "k:{\"a\":-9223372036854775807}",
                "k:{\"a\":-9223372036854776000}",
            ),
            ("v:\"1e-7\"", "v:\"1e-7\""),
            (r#"k:{"a":1e-7}"#, r#"k:{"a":1e-07}"#),
        ] {
            let element = Element::parse(read).unwrap().unwrap();
            assert_eq!(element.to_text(), written);
        }
    }
}
