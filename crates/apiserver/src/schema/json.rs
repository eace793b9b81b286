//! Reads JSON bodies: a value, and which fields stand in it twice.

pub(crate) mod order;
mod syntax;

use std::fmt::{self, Write as _};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use crate::field::quoted;

/// A body that was read.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "what a strict decoder of any format finds"
)]
pub struct Parsed {
    /// The value; of fields that stand twice, the last one.
    pub value: Value,
    /// What a strict decoder says of fields that stand twice, in its words: `duplicate field "spec.foo"`.
    pub duplicates: Vec<String>,
}

/// A body that is not of its format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub(super) String);

/// Go's decoder stops collecting duplicates at this number.
const MAX_DUPLICATES: usize = 100;

/// Reads one JSON value.
///
/// # Errors
///
/// The text of Go's `encoding/json`, such as `invalid character '}' looking for beginning of value`, when this is not JSON;
/// also when it is nested deeper than 128 levels.
pub fn parse(bytes: &[u8]) -> Result<Parsed, Malformed> {
    // Checked once as a whole: the reader would otherwise check each string by itself.
    let text = std::str::from_utf8(bytes);
    let error = match text.map(read) {
        Ok(Ok(parsed)) => return Ok(parsed),
        Ok(Err(error)) => Some(error),
        Err(_) => None,
    };
    match (syntax::first_error(bytes), error) {
        (Some(text), _) => Err(Malformed(text)),
        // Everything that Go takes and this reader does not is out of our range.
        (None, Some(error)) => match text.ok().and_then(without_lone_surrogates) {
            Some(text) => read(&text).map_err(|error| Malformed(unreadable(&error))),
            None => Err(Malformed(unreadable(&error))),
        },
        // Go replaces what is no UTF-8.
        (None, None) => {
            read(&String::from_utf8_lossy(bytes)).map_err(|error| Malformed(unreadable(&error)))
        }
    }
}

fn read(text: &str) -> serde_json::Result<Parsed> {
    let mut duplicates = Duplicates::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Place {
        found: &mut duplicates,
        parent: None,
        step: Step::Root,
    }
    .deserialize(&mut reader)?;
    reader.end()?;
    Ok(Parsed {
        value,
        duplicates: duplicates.0,
    })
}

/// Replaces the halves of surrogate pairs that stand alone, as Go does; none if there are none.
fn without_lone_surrogates(text: &str) -> Option<String> {
    let half = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut out = String::with_capacity(text.len());
    let mut replaced = false;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = match (half(at), half(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                replaced = true;
                out.push_str("\\ufffd");
                at += 6;
                continue;
            }
            // An escaped backslash begins no other escape.
            _ if rest.starts_with("\\\\") => 2,
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        out.push_str(&rest[..length]);
        at += length;
    }
    replaced.then_some(out)
}

fn unreadable(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if text.starts_with("recursion limit exceeded") {
        "exceeded max depth".to_owned()
    } else {
        text
    }
}

/// What was found twice.
#[derive(Default)]
pub(super) struct Duplicates(pub(super) Vec<String>);

/// A value at a place, to be read.
pub(super) struct Place<'a> {
    pub(super) found: &'a mut Duplicates,
    pub(super) parent: Option<&'a Path<'a>>,
    pub(super) step: Step<'a>,
}

/// A path as a chain through the stack.
pub(super) struct Path<'a> {
    parent: Option<&'a Self>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl Path<'_> {
    fn write(&self, out: &mut String) {
        if let Some(parent) = self.parent {
            parent.write(out);
        }
        match self.step {
            Step::Root => {}
            Step::Key(key) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(key);
            }
            Step::Index(index) => {
                let _ = write!(out, "[{index}]");
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let path = Path {
            parent: self.parent,
            step: self.step,
        };
        let mut list = Vec::new();
        loop {
            let place = Place {
                found: &mut *self.found,
                parent: Some(&path),
                step: Step::Index(list.len()),
            };
            match items.next_element_seed(place)? {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let path = Path {
            parent: self.parent,
            step: self.step,
        };
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let place = Place {
                found: &mut *self.found,
                parent: Some(&path),
                step: Step::Key(&key),
            };
            let value = entries.next_value_seed(place)?;
            match map.entry(key) {
                Entry::Vacant(place) => {
                    place.insert(value);
                }
                Entry::Occupied(mut place) => {
                    self.found.add(&path, place.key());
                    place.insert(value);
                }
            }
        }
        Ok(Value::Object(map))
    }
}

impl Duplicates {
    fn add(&mut self, path: &Path<'_>, key: &str) {
        if self.0.len() >= MAX_DUPLICATES {
            return;
        }
        let mut text = String::new();
        path.write(&mut text);
        if !text.is_empty() {
            text.push('.');
        }
        text.push_str(key);
        let text = format!("duplicate field {}", quoted(&text));
        if !self.0.contains(&text) {
            self.0.push(text);
        }
    }
}

#[cfg(test)]
mod tests;
