//! Reads protobuf bodies: kubectl from 1.32 on sends typed objects so, and does not fall back to JSON.
//!
//! Nothing is ever written as protobuf: clients that send it take JSON answers.

mod message;
mod wire;

use serde_json::Value;

use crate::kinds::GroupVersionKind;
use crate::schema::{json, types};
use wire::Reader;

/// What every protobuf body of Kubernetes begins with.
pub const MAGIC: &[u8; 4] = b"k8s\0";

/// Why a body could not be read as protobuf.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The body has no bytes.
    #[error("empty data")]
    Empty,
    /// The body does not begin with the magic bytes.
    #[error(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    )]
    NotProtobuf,
    /// Neither the body nor the request says what kind of object it is.
    #[error("Object 'Kind' is missing in '<protobuf>'")]
    NoKind,
    /// No message is known for the kind.
    #[error("no kind {:?} is registered for version {:?}", .0.kind, api_version(.0))]
    UnknownKind(GroupVersionKind),
    /// The body says that it is encoded in a way that this server does not read.
    #[error("cannot read protobuf content encoded as {0:?}")]
    Encoding(String),
    /// The bytes are no message, or not one of the kind's.
    #[error("cannot read the protobuf message: {0}")]
    Malformed(&'static str),
    /// JSON that is embedded in the message is malformed.
    #[error("cannot read the JSON in the protobuf message: {0}")]
    EmbeddedJson(String),
}

/// Reads an object with its `apiVersion` and `kind`.
///
/// The value is what the message says, field by field; `schema::conform` gives it the form in which Go writes it.
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
    let mut object = message::read(envelope.raw, ty)?;
    object.insert("apiVersion".to_owned(), api_version(&kind).into());
    object.insert("kind".to_owned(), kind.kind.into());
    Ok(Value::Object(object))
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
        let (group, version) = match self.api_version.split_once('/') {
            Some((group, version)) => (group, version),
            None => ("", &*self.api_version),
        };
        GroupVersionKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind,
        }
    }
}

fn api_version(kind: &GroupVersionKind) -> String {
    if kind.group.is_empty() {
        kind.version.clone()
    } else {
        format!("{}/{}", kind.group, kind.version)
    }
}

#[cfg(test)]
mod tests;
