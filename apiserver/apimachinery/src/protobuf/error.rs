//! The errors of reading protobuf.

use crate::meta::GroupVersionKind;

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
    #[error("no kind {:?} is registered for version {:?}", .0.kind, .0.api_version())]
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
