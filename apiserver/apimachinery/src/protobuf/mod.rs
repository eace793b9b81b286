//! Reads and writes protobuf bodies: kubectl from 1.32 on sends typed objects so, and does not fall back to JSON; controllers
//! written in Go ask for answers in it.
//!
//! ```
//! use kubewright_apimachinery::protobuf;
//! use serde_json::json;
//!
//! let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}});
//! let body = protobuf::encode(&object);
//! assert!(body.starts_with(protobuf::MAGIC));
//! assert_eq!(protobuf::decode(&body)?["data"], object["data"]);
//! # Ok::<(), protobuf::DecodeError>(())
//! ```

mod encode;
mod error;
mod message;
mod wire;

use serde_json::{Map, Value, json};

use crate::conform::conform_type;
use crate::depth::is_too_deep;
use crate::json;
use crate::json::ordered::{type_of, type_of_items};
use crate::meta::GroupVersionKind;
use crate::types::{self, Type};
use encode::Message;
pub use error::DecodeError;
use wire::Reader;

/// What every protobuf body of Kubernetes begins with.
pub const MAGIC: &[u8; 4] = b"k8s\0";

/// Reads an object with its `apiVersion` and `kind`.
///
/// The value is what the message says, field by field; [`conform`](crate::conform::conform) gives it the form in which Go writes it.
///
/// # Errors
///
/// When the bytes are not a protobuf body, of no known kind, or malformed.
pub fn decode(bytes: &[u8]) -> Result<Value, DecodeError> {
    decode_as(bytes, &GroupVersionKind::default())
}

/// Reads an object, of the kind `expected` if the body does not say which.
///
/// # Errors
///
/// As for [`decode`].
pub fn decode_as(bytes: &[u8], expected: &GroupVersionKind) -> Result<Value, DecodeError> {
    if bytes.is_empty() {
        return Err(DecodeError::Empty);
    }
    let body = bytes.strip_prefix(MAGIC).ok_or(DecodeError::NotProtobuf)?;
    let envelope = Envelope::read(body)?;
    if !envelope.content_encoding.is_empty() {
        return Err(DecodeError::Encoding(envelope.content_encoding));
    }
    if envelope.content_type == "application/json" {
        return Ok(json::parse(envelope.raw)
            .map_err(|error| DecodeError::EmbeddedJson(error.to_string()))?
            .value);
    }
    let kind = envelope.kind_or(expected);
    if kind.kind.is_empty() {
        return Err(DecodeError::NoKind);
    }
    let Some(ty) = types::root(&kind) else {
        return Err(DecodeError::UnknownKind(kind));
    };
    let mut object = message::read(envelope.raw, ty.inner())?;
    object.insert("apiVersion".to_owned(), kind.api_version().into());
    object.insert("kind".to_owned(), kind.kind.into());
    let object = Value::Object(object);
    // Messages and the JSON within them have limits of their own, which add up.
    if is_too_deep(&object, 0) {
        let why = "invalid character '{' exceeded max depth";
        return Err(DecodeError::EmbeddedJson(why.to_owned()));
    }
    Ok(object)
}

/// Reads what this server or the real one answers: an object, a list of objects, or their metadata, in the form that JSON has.
///
/// # Errors
///
/// As for [`decode`].
pub fn decode_answer(bytes: &[u8]) -> Result<Value, DecodeError> {
    let body = bytes.strip_prefix(MAGIC).ok_or(DecodeError::NotProtobuf)?;
    let envelope = Envelope::read(body)?;
    let mut object = json!({ "kind": envelope.kind });
    if !envelope.api_version.is_empty() {
        object["apiVersion"] = envelope.api_version.as_str().into();
    }
    let ty = type_of(&object);
    let read = match ty {
        Some(ty) => message::read(envelope.raw, ty)?,
        None => decode_parts(envelope.raw, type_of_items(&object), &envelope.kind)?,
    };
    if let Value::Object(members) = &mut object {
        members.extend(read);
    }
    if let Some(ty) = ty {
        // Nothing can be wrong with what was read by the type.
        drop(conform_type(ty.name, &mut object));
    }
    Ok(object)
}

/// `metadata`, and `items` for lists.
fn decode_parts(
    bytes: &[u8],
    ty: Option<&'static Type>,
    kind: &str,
) -> Result<Map<String, Value>, DecodeError> {
    let is_list = kind.ends_with("List");
    let mut items = Vec::new();
    let mut members = Map::new();
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.field()? {
        match (number, ty) {
            (1, _) => {
                let of = metadata_type(is_list).ok_or(DecodeError::NoKind)?;
                let mut metadata = message::read(value.bytes()?, of)?.into();
                drop(conform_type(of.name, &mut metadata));
                members.insert("metadata".to_owned(), metadata);
            }
            (2, Some(ty)) => {
                let mut item = message::read(value.bytes()?, ty)?.into();
                drop(conform_type(ty.name, &mut item));
                items.push(item);
            }
            (2, None) => items.push(decode_parts(value.bytes()?, None, "")?.into()),
            _ => {}
        }
    }
    if is_list {
        members.insert("items".to_owned(), items.into());
    }
    Ok(members)
}

/// The type of the metadata of lists, or of objects.
fn metadata_type(of_lists: bool) -> Option<&'static Type> {
    let name = if of_lists { "ListMeta" } else { "ObjectMeta" };
    let ty = types::by_name(&format!("apimachinery.pkg.apis.meta.v1.{name}"));
    ty.map(types::TypeRef::inner)
}

/// Writes an object, a list of objects, or their metadata alone. What is of no built-in kind has no message: of that only
/// the metadata is written.
pub fn encode(value: &Value) -> Vec<u8> {
    let word = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut unknown = Message::default();
    unknown.message(1, |kind| {
        kind.text(1, word("apiVersion"));
        kind.text(2, word("kind"));
    });
    unknown.message(2, |raw| match type_of(value) {
        Some(ty) => raw.object(value.as_object(), ty),
        None => encode_parts(raw, value),
    });
    unknown.text(3, "");
    unknown.text(4, "");
    [&MAGIC[..], &unknown.into_bytes()].concat()
}

/// What is no object itself: `metadata`, and `items` for lists.
fn encode_parts(message: &mut Message, value: &Value) {
    let items = value.get("items");
    if let Some(ty) = metadata_type(items.is_some()) {
        let metadata = value.get("metadata").and_then(Value::as_object);
        message.message(1, |message| message.object(metadata, ty));
    }
    let ty = type_of_items(value);
    for item in items.and_then(Value::as_array).into_iter().flatten() {
        message.message(2, |message| match ty {
            Some(ty) => message.object(item.as_object(), ty),
            None => encode_parts(message, item),
        });
    }
}

/// Reads a watch event: what happened, and the bytes of the object.
///
/// # Errors
///
/// As for [`decode`].
pub fn decode_event(bytes: &[u8]) -> Result<(String, Vec<u8>), DecodeError> {
    let (mut change, mut object) = (String::new(), Vec::new());
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.field()? {
        match number {
            1 => change = value.text()?,
            2 => {
                let mut raw = Reader::new(value.bytes()?);
                while let Some((1, value)) = raw.field()? {
                    object = value.bytes()?.to_vec();
                }
            }
            _ => {}
        }
    }
    Ok((change, object))
}

/// A watch event with the length before it, as streams of protobuf have them.
pub fn frame(change: &str, object: &Value) -> Vec<u8> {
    let mut event = Message::default();
    event.text(1, change);
    event.message(2, |raw| raw.bytes(1, &encode(object)));
    let event = event.into_bytes();
    let length = u32::try_from(event.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], &event].concat()
}

/// `runtime.Unknown`, which is around every object.
#[derive(Default)]
struct Envelope<'a> {
    api_version: String,
    kind: String,
    raw: &'a [u8],
    content_encoding: String,
    content_type: String,
}

impl<'a> Envelope<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut envelope = Self::default();
        let mut reader = Reader::new(bytes);
        while let Some((number, value)) = reader.field()? {
            match number {
                1 => envelope.read_type(value.bytes()?)?,
                2 => envelope.raw = value.bytes()?,
                3 => envelope.content_encoding = value.text()?,
                4 => envelope.content_type = value.text()?,
                _ => {}
            }
        }
        Ok(envelope)
    }

    fn read_type(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let mut reader = Reader::new(bytes);
        while let Some((number, value)) = reader.field()? {
            match number {
                1 => self.api_version = value.text()?,
                2 => self.kind = value.text()?,
                _ => {}
            }
        }
        Ok(())
    }

    /// What the envelope says; what it leaves out is as expected, as Go's `gvkWithDefaults` has it.
    fn kind_or(&self, expected: &GroupVersionKind) -> GroupVersionKind {
        let kind = if self.kind.is_empty() {
            expected.kind.clone()
        } else {
            self.kind.clone()
        };
        if self.api_version.is_empty() {
            return GroupVersionKind {
                kind,
                ..expected.clone()
            };
        }
        GroupVersionKind::from_api_version_and_kind(&self.api_version, &kind)
    }
}

#[cfg(test)]
mod tests;
