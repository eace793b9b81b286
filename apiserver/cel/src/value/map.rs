//! Maps: JSON objects as they are, or entries that an expression made.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Key, Map, Text, Value};
use crate::failure::Failure;

impl<'a> Map<'a> {
    /// Whether the API server holds it in Go types: see [`Variables::with_native`](crate::Variables::with_native).
    pub fn is_native(&self) -> bool {
        matches!(self, Self::Declared(_, of) if of.is_native())
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        match self {
            Self::Json(members) | Self::Declared(members, _) => members.len(),
            Self::Values(entries) | Self::Domains(entries) => entries.len(),
        }
    }

    /// Whether the map has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a string key, as expressions see it: fields that a schema does not declare are missing.
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        self.find(&Value::text(key))
    }

    /// The value of a key that the map has.
    pub(crate) fn entry(&self, key: &Value<'_>) -> Option<Value<'a>> {
        match self {
            Self::Domains(entries) => entries.get(&Key::of(key)?).cloned(),
            _ => self.find(key),
        }
    }

    /// The value of a key, or that of all keys that it does not have; numbers of another type find their equal.
    pub(crate) fn find(&self, key: &Value<'_>) -> Option<Value<'a>> {
        match self {
            Self::Json(members) => members.get(key.as_str()?).map(Value::from_json),
            Self::Values(entries) => {
                let key = Key::numeric_or_exact(key)?;
                entries.get(&key).cloned()
            }
            Self::Declared(members, of) => of.find(members, key.as_str()?),
            Self::Domains(entries) => {
                let found = Key::of(key).and_then(|key| entries.get(&key).cloned());
                Some(found.unwrap_or_else(|| Value::Map(Self::Values(Arc::default()))))
            }
        }
    }

    /// Maps that Go types hold, and those with a schema, have no keys but strings.
    pub(crate) fn check_key(&self, key: &Value<'_>) -> Result<(), Failure> {
        match self {
            Self::Declared(_, of) if key.as_str().is_none() => Err(if of.is_native() {
                Failure::new(format!("unsupported map key type: {}", key.go_type_name()))
            } else {
                Failure::no_such_overload()
            }),
            _ => Ok(()),
        }
    }

    /// The value under a name as JSON has it.
    pub(super) fn named(&self, name: &str) -> Option<Value<'a>> {
        match self {
            Self::Declared(members, _) | Self::Json(members) => {
                members.get(name).map(Value::from_json)
            }
            Self::Values(_) | Self::Domains(_) => self.find(&Value::text(name)),
        }
    }

    /// The entries that expressions see, in the order of their keys.
    pub fn entries(&self) -> Vec<(Value<'a>, Value<'a>)> {
        match self {
            Self::Json(members) => members
                .iter()
                .map(|(key, value)| (Value::String(Text::Borrowed(key)), Value::from_json(value)))
                .collect(),
            Self::Values(entries) | Self::Domains(entries) => entries
                .iter()
                .map(|(key, value)| (key.to_value(), value.clone()))
                .collect(),
            Self::Declared(members, of) => of
                .keys(members)
                .into_iter()
                .filter_map(|key| {
                    let value = of.find(members, &key)?;
                    Some((Value::text(key), value))
                })
                .collect(),
        }
    }

    /// The first entry.
    pub(crate) fn first(&self) -> Option<(Value<'a>, Value<'a>)> {
        match self {
            Self::Json(members) => {
                let (key, value) = members.iter().next()?;
                Some((Value::String(Text::Borrowed(key)), Value::from_json(value)))
            }
            Self::Values(entries) | Self::Domains(entries) => {
                let (key, value) = entries.first_key_value()?;
                Some((key.to_value(), value.clone()))
            }
            Self::Declared(..) => self.entries().into_iter().next(),
        }
    }

    pub(crate) fn keys(&self) -> Vec<Value<'a>> {
        match self {
            Self::Json(members) => members
                .keys()
                .map(|key| Value::String(Text::Borrowed(key)))
                .collect(),
            Self::Values(entries) | Self::Domains(entries) => {
                entries.keys().map(Key::to_value).collect()
            }
            Self::Declared(members, of) => of.keys(members).into_iter().map(Value::text).collect(),
        }
    }
}

impl<'a> Key<'a> {
    /// The value as a key, if it can be one.
    pub(crate) fn of(value: &Value<'a>) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::Uint(value) => Self::Uint(*value),
            Value::String(text) => Self::String(text.clone()),
            _ => return None,
        })
    }

    pub(crate) fn numeric_or_exact(value: &Value<'a>) -> Option<Self> {
        if let Value::Double(double) = value {
            return Self::whole(*double);
        }
        Self::of(value)
    }

    /// A floating point number as the integer that equals it.
    pub(crate) fn whole(double: f64) -> Option<Self> {
        super::convert::whole(double).map(Self::Int)
    }

    pub(crate) fn to_value(&self) -> Value<'a> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Uint(value) => Value::Uint(*value),
            Self::String(text) => Value::String(text.clone()),
        }
    }

    fn number(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(i128::from(*value)),
            Self::Uint(value) => Some(i128::from(*value)),
            _ => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Int(_) | Self::Uint(_) => 2,
            Self::String(_) => 3,
        }
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(left), Self::Bool(right)) => left.cmp(right),
            (Self::String(left), Self::String(right)) => (**left).cmp(&**right),
            _ => self
                .number()
                .cmp(&other.number())
                .then(self.rank().cmp(&other.rank())),
        }
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key<'_> {}
