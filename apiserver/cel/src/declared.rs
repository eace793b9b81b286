//! What a schema says of the JSON that expressions read: its types, how it is read, and how large it can be.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::Value as Json;

use crate::escape::{escape, unescape};
use crate::formats;
use crate::types::Type;
use crate::value::{List, Map, Value};

/// The largest body of a request, in bytes; what bounds values whose schema has no bound.
pub const MAX_REQUEST_SIZE_BYTES: u64 = 3 * 1024 * 1024;

const FLOAT_FOR_INT: &str = "invalid data, expected int, got float64";
const FLOAT_FOR_INT_OR_STRING: &str =
    "invalid data, expected XIntOrString value to be either a string or integer";

/// A value that a schema declares.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "what is known of a value")]
pub struct Declared {
    /// How it is read.
    pub form: Form,
    /// Whether null may stand for it.
    pub nullable: bool,
    /// Its type; none where expressions may not look at it.
    pub of: Option<Type>,
    /// The most elements, entries, bytes or code points that it can have.
    pub most: u64,
    /// The fewest bytes that it takes as JSON.
    pub least: u64,
}

/// How JSON is read as a value.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
#[expect(clippy::exhaustive_enums, reason = "what schemas can say")]
pub enum Form {
    /// As what it is.
    Plain,
    Double,
    Bytes,
    Date,
    DateTime,
    Duration,
    List(Arc<Declared>, Items),
    Map(Arc<Declared>),
    /// By the names of its fields.
    Object(BTreeMap<String, Arc<Declared>>),
}

/// How the items of a list are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the three types of lists")]
pub enum Items {
    /// By their places.
    Ordered,
    /// By their values.
    Set,
    /// By these of their fields.
    Keyed(Arc<[String]>),
}

impl Declared {
    /// The fields as expressions name them, with their types.
    pub fn fields(&self) -> impl Iterator<Item = (String, Type)> {
        let fields = match &self.form {
            Form::Object(fields) => Some(fields),
            _ => None,
        };
        fields
            .into_iter()
            .flatten()
            .filter_map(|(name, field)| Some((escape(name)?, field.of.clone()?)))
    }

    /// The field that expressions name so.
    pub(crate) fn field(&self, identifier: &str) -> Option<&Self> {
        match &self.form {
            Form::Object(fields) => {
                let field = fields.get(&unescape(identifier)?)?;
                field.of.is_some().then_some(field)
            }
            _ => None,
        }
    }

    /// What stands inside of a list or a map.
    pub(crate) fn element(&self) -> Option<&Self> {
        match &self.form {
            Form::List(element, _) | Form::Map(element) => Some(element),
            _ => None,
        }
    }

    /// How often such a value can be in one object at most.
    pub fn most_often(&self) -> u64 {
        MAX_REQUEST_SIZE_BYTES / (self.least + 1)
    }

    /// The value that JSON stands for. JSON of another type is read as what it is.
    pub fn read<'a>(&'a self, json: &'a Json) -> Value<'a> {
        let text = json.as_str();
        let read = match (&self.form, json) {
            (Form::Plain, Json::Number(number)) if !number.is_i64() => match self.of {
                Some(Type::Int) => Some(Value::Invalid(FLOAT_FOR_INT)),
                Some(Type::Dyn) => Some(Value::Invalid(FLOAT_FOR_INT_OR_STRING)),
                _ => None,
            },
            (Form::Double, Json::Number(number)) => number.as_f64().map(Value::Double),
            (Form::Bytes, _) => text
                .and_then(|text| URL_SAFE.decode(text).ok())
                .map(|bytes| Value::Bytes(bytes.into())),
            (Form::Date, _) => text.and_then(formats::date).map(Value::Timestamp),
            (Form::DateTime, _) => text.and_then(formats::date_time).map(Value::Timestamp),
            (Form::Duration, _) => text.and_then(formats::parse_duration).map(Value::Duration),
            (Form::List(..), Json::Array(items)) => Some(Value::List(List::Declared(items, self))),
            (Form::Map(_) | Form::Object(_), Json::Object(members)) => {
                Some(Value::Map(Map::Declared(members, self)))
            }
            _ => None,
        };
        read.unwrap_or_else(|| Value::from_json(json))
    }

    /// The entry of an object or a map of this kind.
    pub(crate) fn find<'a>(
        &'a self,
        members: &'a serde_json::Map<String, Json>,
        key: &str,
    ) -> Option<Value<'a>> {
        match &self.form {
            Form::Map(element) => Some(element.read(members.get(key)?)),
            Form::Object(fields) => {
                let name = unescape(key)?;
                let field = fields.get(&name)?;
                let value = members.get(&name).filter(|value| !value.is_null())?;
                Some(field.read(value))
            }
            _ => None,
        }
    }

    /// The keys that expressions see.
    pub(crate) fn keys(&self, members: &serde_json::Map<String, Json>) -> Vec<String> {
        members
            .keys()
            .filter_map(|name| match &self.form {
                Form::Object(fields) => fields
                    .contains_key(name)
                    .then(|| escape(name).unwrap_or_else(|| name.clone())),
                _ => Some(name.clone()),
            })
            .collect()
    }

    /// How the items of a list are told apart.
    pub(crate) fn items(&self) -> &Items {
        match &self.form {
            Form::List(_, items) => items,
            _ => &Items::Ordered,
        }
    }

    /// Whether two objects of this kind say the same. Fields that the schema does not know are compared as JSON, and only
    /// where both have them.
    pub(crate) fn is_same(
        &self,
        left: &serde_json::Map<String, Json>,
        right: &serde_json::Map<String, Json>,
    ) -> bool {
        left.len() == right.len()
            && left.iter().all(|(name, value)| {
                let other = right.get(name);
                let known = match &self.form {
                    Form::Map(element) => Some(element),
                    Form::Object(fields) => fields.get(name),
                    _ => None,
                };
                let is_object = matches!(self.form, Form::Object(_));
                let said = |value: &&Json| !(is_object && value.is_null());
                match (known, Some(value).filter(said), other.filter(said)) {
                    (Some(known), Some(value), Some(other)) => {
                        let (value, other) = (known.read(value), known.read(other));
                        matches!(crate::value::equal(&value, &other), Ok(true))
                    }
                    (Some(_), None, None) => true,
                    (Some(_), ..) => false,
                    (None, ..) => other.is_none_or(|other| value == other),
                }
            })
    }
}
