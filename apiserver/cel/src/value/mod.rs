//! Values: what expressions work on. JSON is borrowed and looked at only where an expression goes.

mod compare;
mod convert;
mod display;
mod duration;
mod lists;
mod map;
mod time;

use std::sync::Arc;

use serde_json::Value as Json;

use crate::declared::{Declared, Items};
use crate::library::authorizer::{Authority, Decision, GroupCheck, PathCheck, ResourceCheck};
use crate::library::formats::NamedFormat;
use crate::library::network::{Address, Network};
use crate::library::quantity::Quantity;
use crate::library::semver::Semver;
use crate::library::urls::Url;
use crate::types::Type;

pub(crate) use compare::{compare, equal};
pub(crate) use convert::convert;
pub(crate) use display::format_double;
pub(crate) use duration::parse as parse_duration;
pub(crate) use lists::join;
pub use map::{Key, Map};
pub(crate) use time::Civil;
pub use time::Timestamp;

/// A value of the expression language.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are the language's own")]
#[non_exhaustive]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'a>),
    Bytes(Arc<[u8]>),
    Timestamp(Timestamp),
    /// Nanoseconds.
    Duration(i64),
    List(List<'a>),
    Map(Map<'a>),
    Optional(Option<Arc<Self>>),
    Type(Arc<Type>),
    /// A value of one of Kubernetes' own types.
    Object(Object<'a>),
    /// A value of a declared object type that an expression made.
    Record(Arc<Record<'a>>),
    /// JSON that is not what its schema declares, with the reason: expressions that look at it fail.
    Invalid(&'static str),
}

impl<'a> Value<'a> {
    /// The value that JSON stands for, without a copy.
    pub fn from_json(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => match number.as_i64() {
                Some(value) => Self::Int(value),
                None => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Self::String(Text::Borrowed(text)),
            Json::Array(elements) => Self::List(List::Json(elements)),
            Json::Object(members) => Self::Map(Map::Json(members)),
        }
    }

    /// A list of values.
    pub fn list(elements: Vec<Self>) -> Self {
        Self::List(List::Values(Arc::new(elements)))
    }

    pub(crate) fn text(text: impl Into<Arc<str>>) -> Self {
        Self::String(Text::Shared(text.into()))
    }

    pub(crate) fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// The name of the value's type, as `type(value)` gives it.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Object(object) => object.type_name(),
            Self::Record(record) => &record.name,
            Self::Invalid(_) => "error",
        }
    }

    /// Why it is no value of its type, if it is none.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        match self {
            Self::Invalid(reason) => Some(reason),
            _ => None,
        }
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The size where the language has one: code points, bytes, elements or entries.
    pub(crate) fn size(&self) -> Option<usize> {
        Some(match self {
            Self::String(text) => text.code_points(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => list.len(),
            Self::Map(map) => map.len(),
            Self::Object(Object::Ip(address)) => address.octets(),
            Self::Object(Object::Cidr(network)) => network.octets(),
            _ => return None,
        })
    }

    /// Whether `optional.ofNonZeroValue` takes the value for nothing.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Int(value) | Self::Duration(value) => *value == 0,
            Self::Uint(value) => *value == 0,
            Self::Double(value) => *value == 0.0,
            Self::String(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::List(list) => list.len() == 0,
            Self::Map(map) => map.len() == 0,
            Self::Timestamp(time) => time.is_zero(),
            _ => false,
        }
    }
}

/// A text, borrowed from the object or the program, or made by the expression.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the two ways to hold a text")]
#[non_exhaustive]
pub enum Text<'a> {
    Borrowed(&'a str),
    Shared(Arc<str>),
}

impl Text<'_> {
    pub(crate) fn code_points(&self) -> usize {
        if self.is_ascii() {
            self.len()
        } else {
            self.chars().count()
        }
    }
}

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

/// A list of JSON or of values.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the ways to hold a list")]
#[non_exhaustive]
pub enum List<'a> {
    Json(&'a [Json]),
    Values(Arc<Vec<Value<'a>>>),
    /// JSON that a schema declares to be a list.
    Declared(&'a [Json], &'a Declared),
    /// What came of joining a list that is a set or a map with another one.
    Joined(Arc<Vec<Value<'a>>>, Items),
}

impl<'a> List<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(elements) | Self::Declared(elements, _) => elements.len(),
            Self::Values(elements) | Self::Joined(elements, _) => elements.len(),
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            Self::Json(elements) => elements.get(index).map(Value::from_json),
            Self::Values(elements) | Self::Joined(elements, _) => elements.get(index).cloned(),
            Self::Declared(elements, of) => {
                let element = elements.get(index)?;
                Some(match of.element() {
                    Some(of) => of.read(element),
                    None => Value::from_json(element),
                })
            }
        }
    }

    /// How the items are told apart.
    fn kind(&self) -> &Items {
        match self {
            Self::Json(_) | Self::Values(_) => &Items::Ordered,
            Self::Declared(_, of) => of.items(),
            Self::Joined(_, items) => items,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    pub(crate) fn contains(&self, value: &Value<'_>) -> bool {
        self.iter()
            .any(|element| matches!(equal(value, &element), Ok(true)))
    }
}

/// A value of one of Kubernetes' own types.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names of the types")]
#[non_exhaustive]
pub enum Object<'a> {
    Quantity(Arc<Quantity>),
    Url(Arc<Url>),
    Ip(Address),
    Cidr(Network),
    Format(&'static NamedFormat),
    Semver(Arc<Semver>),
    Authorizer(Arc<Authority<'a>>),
    PathCheck(Arc<PathCheck<'a>>),
    GroupCheck(Arc<GroupCheck<'a>>),
    ResourceCheck(Arc<ResourceCheck<'a>>),
    Decision(Arc<Decision>),
}

impl Object<'_> {
    fn type_name(&self) -> &'static str {
        match self {
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Authorizer(_) => "kubernetes.authorization.Authorizer",
            Self::PathCheck(_) => "kubernetes.authorization.PathCheck",
            Self::GroupCheck(_) => "kubernetes.authorization.GroupCheck",
            Self::ResourceCheck(_) => "kubernetes.authorization.ResourceCheck",
            Self::Decision(_) => "kubernetes.authorization.Decision",
        }
    }
}

/// A value that an expression made by naming a type and its fields.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    pub(crate) name: Arc<str>,
    pub(crate) fields: std::collections::BTreeMap<Arc<str>, Value<'a>>,
}

impl<'a> Record<'a> {
    /// The name of the type.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The fields that were set, in the order of their names.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value<'a>)> {
        self.fields.iter().map(|(name, value)| (&**name, value))
    }
}
