//! JSON read as values of the language, by the declaration of a schema.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::Value as Json;

use super::{List, Map, Value, equal};
use crate::declared::{Declared, Form};
use crate::escape::unescape;
use crate::failure::Failure;
use crate::formats;
use crate::types::Type;

const FLOAT_FOR_INT: &str = "invalid data, expected int, got float64";
const NOT_INT_OR_STRING: &str =
    "invalid data, expected XIntOrString value to be either a string or integer";

impl Declared {
    /// The value of JSON that the schema has accepted. JSON of another type is read as [`Value::from_json`] does.
    pub fn read<'a>(&'a self, json: &'a Json) -> Value<'a> {
        let text = json.as_str();
        let read = match (&self.form, json) {
            (Form::Plain, Json::Number(number)) if !number.is_i64() => match self.value_type {
                Some(Type::Int) => Some(Value::Invalid(FLOAT_FOR_INT)),
                Some(Type::Dyn) => Some(Value::Invalid(NOT_INT_OR_STRING)),
                _ => None,
            },
            (Form::Plain, Json::Bool(_) | Json::Array(_) | Json::Object(_))
                if self.value_type == Some(Type::Dyn) =>
            {
                Some(Value::Invalid(NOT_INT_OR_STRING))
            }
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

    /// Whether two objects of this kind say the same. Fields that the schema does not know are compared as JSON, and only
    /// where both have them.
    pub(crate) fn is_same(
        &self,
        left: &serde_json::Map<String, Json>,
        right: &serde_json::Map<String, Json>,
    ) -> Result<bool, Failure> {
        if left.len() != right.len() {
            return Ok(false);
        }
        let is_object = matches!(self.form, Form::Object(_));
        let said = |value: &&Json| !(is_object && value.is_null());
        for (name, value) in left {
            let other = right.get(name);
            let known = match &self.form {
                Form::Map(element) => Some(element),
                Form::Object(fields) => fields.get(name),
                _ => None,
            };
            let is_same = match (known, Some(value).filter(said), other.filter(said)) {
                (Some(known), Some(value), Some(other)) => {
                    equal(&known.read(value), &known.read(other))?
                }
                (Some(_), None, None) => true,
                (Some(_), ..) => false,
                (None, ..) => other.is_none_or(|other| value == other),
            };
            if !is_same {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
