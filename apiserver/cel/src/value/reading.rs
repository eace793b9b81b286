//! JSON read as values of the language, by the declaration of a schema.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::Value as Json;

use super::compare::part_equal;
use super::{List, Map, Text, Value};
use crate::declared::{Declared, Form, Items};
use crate::escape::unescape;
use crate::failure::Failure;
use crate::formats;
use crate::types::Type;

const NOT_INT_OR_STRING: &str = "expected XIntOrString value to be either a string or integer";

impl Declared {
    /// The value of JSON. What is not of the type that the schema says is read as [`Value::Invalid`].
    pub fn read<'a>(&'a self, json: &'a Json) -> Value<'a> {
        match (&self.form, json) {
            (_, Json::Null) if self.nullable => Value::Null,
            (_, Json::Null) => invalid("got null for schema with nullable=false"),
            (Form::Plain, _) => match (&self.value_type, json) {
                (Some(Type::Bool), Json::Bool(_)) | (Some(Type::String), Json::String(_)) => {
                    Value::from_json(json)
                }
                (Some(Type::Int | Type::Dyn), Json::Number(number)) if number.is_i64() => {
                    Value::from_json(json)
                }
                (Some(Type::Dyn), Json::String(_)) => Value::from_json(json),
                (Some(Type::Bool), _) => unexpected("bool", json),
                (Some(Type::Int), _) => unexpected("int", json),
                (Some(Type::String), _) => unexpected("string", json),
                (Some(Type::Dyn), _) => invalid(NOT_INT_OR_STRING),
                _ => Value::from_json(json),
            },
            (Form::Double, Json::Number(number)) => {
                Value::Double(number.as_f64().unwrap_or(f64::NAN))
            }
            (Form::Double, _) => unexpected("float", json),
            (Form::Bytes | Form::Date | Form::DateTime | Form::Duration, Json::String(text)) => {
                self.formatted(text)
                    .unwrap_or_else(|| Value::from_json(json))
            }
            (Form::Bytes | Form::Date | Form::DateTime | Form::Duration, _) => {
                unexpected("string", json)
            }
            (Form::List(_, Items::Unknown(kind)), Json::Array(_)) => Value::Invalid(
                format!(
                    "invalid x-kubernetes-list-type, expected 'map', 'set' or 'atomic' but got {kind}"
                )
                .into(),
            ),
            (Form::List(..) | Form::Native(_), Json::Array(items)) => {
                Value::List(List::Declared(items, self))
            }
            (
                Form::Map(_) | Form::Object(_) | Form::MapOfFields(..) | Form::Native(_),
                Json::Object(members),
            ) => Value::Map(Map::Declared(members, self)),
            (Form::List(..), _) => {
                invalid("expected an array for the provided schema with type=array")
            }
            (Form::Map(_) | Form::Object(_) | Form::MapOfFields(..), _) => {
                invalid("expected a map for the provided schema with type=object")
            }
            (Form::Native(_), _) => Value::from_json(json),
        }
    }

    /// The value of a string in the format that the schema says.
    fn formatted<'a>(&self, text: &str) -> Option<Value<'a>> {
        match self.form {
            Form::Bytes => {
                let bytes = URL_SAFE.decode(text).ok()?;
                Some(Value::Bytes(bytes.into()))
            }
            Form::Date => formats::date(text).map(Value::Timestamp),
            Form::DateTime => formats::date_time(text).map(Value::Timestamp),
            Form::Duration => formats::parse_duration(text).map(Value::Duration),
            _ => None,
        }
    }

    /// The entry of an object or a map of this kind.
    pub(crate) fn find<'a>(
        &'a self,
        members: &'a serde_json::Map<String, Json>,
        key: &str,
    ) -> Option<Value<'a>> {
        match &self.form {
            Form::Map(element) => Some(element.read(members.get(key)?)),
            Form::Object(fields) | Form::MapOfFields(_, fields) => {
                let name = unescape(key)?;
                let field = fields.get(&name)?;
                let value = members.get(&name).filter(|value| !value.is_null())?;
                Some(field.read(value))
            }
            Form::Native(raw) if raw.contains(&key) => members.get(key).map(Value::from_json),
            Form::Native(_) => Some(self.read(members.get(key)?)),
            _ => None,
        }
    }

    /// The declaration of a field or a value, by its name in JSON.
    fn member(&self, name: &str) -> Option<&Self> {
        match &self.form {
            Form::Map(element) => Some(element),
            Form::Object(fields) | Form::MapOfFields(_, fields) => {
                fields.get(name).map(Arc::as_ref)
            }
            _ => None,
        }
    }

    /// Whether an object of this kind says the same as a map that has no schema. It is asked by the names of JSON.
    pub(crate) fn is_map(
        &self,
        members: &serde_json::Map<String, Json>,
        map: &Map<'_>,
    ) -> Result<bool, Failure> {
        if members.len() != map.len() {
            return Ok(false);
        }
        for name in members.keys() {
            if self.member(name).is_none() {
                return Err(Failure::no_such_overload());
            }
            let key = Value::String(Text::Borrowed(name));
            let is_same = match (self.find(members, name), map.find(&key)) {
                (Some(value), Some(other)) => part_equal(&value, &other)?,
                (None, None) => true,
                _ => false,
            };
            if !is_same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether two objects of this kind say the same. Fields that the schema does not know are compared as JSON, and only
    /// where both have them.
    pub(crate) fn is_same(
        &self,
        left: &serde_json::Map<String, Json>,
        right: &serde_json::Map<String, Json>,
    ) -> Result<bool, Failure> {
        if self.is_native() {
            return Ok(left == right);
        }
        if left.len() != right.len() {
            return Ok(false);
        }
        let is_object = matches!(self.form, Form::Object(_) | Form::MapOfFields(..));
        let said = |value: &&Json| !(is_object && value.is_null());
        for (name, value) in left {
            let other = right.get(name);
            let known = self.member(name);
            let is_same = match (known, Some(value).filter(said), other.filter(said)) {
                (Some(known), Some(value), Some(other)) => {
                    part_equal(&known.read(value), &known.read(other))?
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

fn invalid<'a>(why: &str) -> Value<'a> {
    Value::Invalid(format!("invalid data, {why}").into())
}

fn unexpected<'a>(wanted: &str, json: &Json) -> Value<'a> {
    let found = match json {
        Json::Null => "<nil>",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_i64() => "int64",
        Json::Number(_) => "float64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    };
    invalid(&format!("expected {wanted}, got {found}"))
}
