//! Object keys into types: strings, and numbers and booleans written as strings.

use serde::de::{Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::JsonError;

/// A key of an object.
#[derive(Clone, Copy)]
pub(super) enum Key<'de, 's> {
    /// Borrowed from the document.
    Plain(&'de str),
    /// With its escapes decoded.
    Decoded(&'s str),
}

impl<'de> Key<'de, '_> {
    #[expect(
        clippy::match_same_arms,
        reason = "the strings have different lifetimes, which one pattern cannot express"
    )]
    fn as_str(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Decoded(text) => text,
        }
    }

    fn text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        match self {
            Self::Plain(text) => visitor.visit_borrowed_str(text),
            Self::Decoded(text) => visitor.visit_str(text),
        }
    }
}

macro_rules! parsed {
    ($($deserialize:ident => $visit:ident: $type:ty,)*) => {$(
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
            match self.as_str().parse::<$type>() {
                Ok(value) => visitor.$visit(value),
                Err(_) => self.text(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'de, '_> {
    type Error = JsonError;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        self.text(visitor)
    }

    parsed! {
        deserialize_bool => visit_bool: bool,
        deserialize_i8 => visit_i64: i64,
        deserialize_i16 => visit_i64: i64,
        deserialize_i32 => visit_i64: i64,
        deserialize_i64 => visit_i64: i64,
        deserialize_i128 => visit_i128: i128,
        deserialize_u8 => visit_u64: u64,
        deserialize_u16 => visit_u64: u64,
        deserialize_u32 => visit_u64: u64,
        deserialize_u64 => visit_u64: u64,
        deserialize_u128 => visit_u128: u128,
        deserialize_f32 => visit_f64: f64,
        deserialize_f64 => visit_f64: f64,
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        visitor.visit_enum(self.as_str().into_deserializer())
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
