//! JSON into types: a serde deserializer that reads an object and notes where its members are in the same pass.

use std::ops::Range;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor, value::BorrowedStrDeserializer,
};
use serde::forward_to_deserialize_any;

use super::keys::Key;
use super::{JsonError, Reader};

/// The deepest nesting that is read into types: each level costs stack. serde_json has the same limit.
const DEEPEST: u16 = 128;

/// Returns whether a struct of this name stands for JSON text.
///
/// Types that pass JSON through, such as serde_json's `RawValue`, ask for it by a name that no Rust struct can have.
#[inline]
pub(crate) fn is_json_text(name: &str) -> bool {
    name.starts_with('$')
}

/// Where a member of an object is: its key with the quotes, and its value.
pub(crate) type Member = (Range<usize>, Range<usize>);

/// Where the members of an object, of its metadata and of its spec are. Empty lists say nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    pub(crate) object: Vec<Member>,
    pub(crate) metadata: Vec<Member>,
    pub(crate) spec: Vec<Member>,
}

impl Members {
    /// Counts from the start of the object instead of the start of the document.
    pub(crate) fn relative_to(mut self, start: usize) -> Self {
        let inner = self.metadata.iter_mut().chain(&mut self.spec);
        for (key, value) in self.object.iter_mut().chain(inner) {
            *key = key.start - start..key.end - start;
            *value = value.start - start..value.end - start;
        }
        self
    }
}

/// Which part of an object is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it, but for `metadata.managedFields`.
    Whole,
    /// `apiVersion`, `kind` and `metadata`, but for `metadata.managedFields`.
    Metadata,
}

/// A value about to be read into a type.
pub(crate) struct Typed<'r, 'de> {
    reader: &'r mut Reader<'de>,
    place: Place<'r>,
}

/// What the value is in the object.
enum Place<'r> {
    Object(Part, &'r mut Members),
    Metadata(&'r mut Vec<Member>),
    Spec(&'r mut Vec<Member>),
    Inside,
}

impl<'r, 'de> Typed<'r, 'de> {
    /// The whole object. Where its members are is noted.
    pub(crate) fn object(
        reader: &'r mut Reader<'de>,
        part: Part,
        members: &'r mut Members,
    ) -> Self {
        Self {
            reader,
            place: Place::Object(part, members),
        }
    }

    /// A value that is not a whole object.
    pub(crate) fn value(reader: &'r mut Reader<'de>) -> Self {
        Self {
            reader,
            place: Place::Inside,
        }
    }

    #[inline]
    fn enter(&mut self) -> Result<(), JsonError> {
        if self.reader.depth == DEEPEST {
            return Err(self
                .reader
                .error("values are nested more than 128 levels deep"));
        }
        self.reader.depth += 1;
        self.reader.bump();
        Ok(())
    }

    fn map<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, JsonError> {
        self.enter()?;
        let mut members = ObjectMembers {
            reader: self.reader,
            place: self.place,
            first: true,
            key: 0..0,
            next: Next::Other,
        };
        let value = visitor.visit_map(&mut members)?;
        let reader = members.reader;
        reader.expect(b'}', "a comma or the end of the object")?;
        reader.depth -= 1;
        Ok(value)
    }

    fn list<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, JsonError> {
        self.enter()?;
        let mut elements = Elements {
            reader: self.reader,
            first: true,
        };
        let value = visitor.visit_seq(&mut elements)?;
        let reader = elements.reader;
        reader.expect(b']', "a comma or the end of the list")?;
        reader.depth -= 1;
        Ok(value)
    }

    fn number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        let start = self.reader.offset();
        let (text, whole) = self.reader.number()?;
        if whole {
            if let Ok(number) = text.parse::<u64>() {
                return visitor.visit_u64(number);
            }
            if let Ok(number) = text.parse::<i64>() {
                return visitor.visit_i64(number);
            }
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => visitor.visit_f64(number),
            _ => Err(JsonError::new("a number is out of range", start)),
        }
    }

    fn string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        self.reader.bump();
        if let Some(text) = self.reader.string()? {
            return visitor.visit_borrowed_str(text);
        }
        visitor.visit_str(self.reader.decoded())
    }

    fn any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        match self.reader.peek() {
            Some(b'"') => self.string(visitor),
            Some(b'{') => self.map(visitor),
            Some(b'[') => self.list(visitor),
            Some(b't') => {
                self.reader.word("true")?;
                visitor.visit_bool(true)
            }
            Some(b'f') => {
                self.reader.word("false")?;
                visitor.visit_bool(false)
            }
            Some(b'n') => {
                self.reader.word("null")?;
                visitor.visit_unit()
            }
            Some(b'-' | b'0'..=b'9') => self.number(visitor),
            _ => Err(self.reader.unexpected("a value")),
        }
    }
}

impl<'de> Deserializer<'de> for Typed<'_, 'de> {
    type Error = JsonError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        self.any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        if self.reader.is_null()? {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        if is_json_text(name) {
            let text = self.reader.skip()?;
            return visitor.visit_map(JsonText {
                name,
                text: Some(text),
            });
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        match self.reader.peek() {
            Some(b'"') => {
                self.reader.bump();
                let variant = self.reader.string()?;
                visitor.visit_enum(self.reader.borrowed(variant).into_deserializer())
            }
            Some(b'{') => {
                let mut this = self;
                this.enter()?;
                let mut members = ObjectMembers {
                    reader: this.reader,
                    place: Place::Inside,
                    first: true,
                    key: 0..0,
                    next: Next::Other,
                };
                let value = visitor.visit_enum(Variant(&mut members))?;
                let reader = members.reader;
                reader.expect(b'}', "the end of an object with one member")?;
                reader.depth -= 1;
                Ok(value)
            }
            _ => Err(self.reader.unexpected("a string or an object")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        self.reader.skip()?;
        visitor.visit_unit()
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        self.any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string byte_buf unit unit_struct seq
        tuple tuple_struct map struct identifier
    }
}

/// A key as [`Reader::key`] gives it.
type KeyText<'de> = Option<&'de str>;

/// The members of an object, one after the other.
struct ObjectMembers<'r, 'de> {
    reader: &'r mut Reader<'de>,
    place: Place<'r>,
    first: bool,
    key: Range<usize>,
    next: Next,
}

/// Which member of an object is next.
enum Next {
    Metadata,
    Spec,
    Other,
}

fn emptied(members: &mut Vec<Member>) -> &mut Vec<Member> {
    members.clear();
    members.reserve(16);
    members
}

impl<'de> ObjectMembers<'_, 'de> {
    /// Reads the key of the next member that the type may see.
    #[inline]
    fn advance(&mut self) -> Result<Option<KeyText<'de>>, JsonError> {
        loop {
            match self.reader.peek() {
                Some(b'}') => return Ok(None),
                Some(b',') if !self.first => self.reader.bump(),
                _ if self.first => self.first = false,
                _ => {
                    return Err(self.reader.unexpected("a comma or the end of the object"));
                }
            }
            if matches!(self.place, Place::Inside) {
                return self.reader.key().map(Some);
            }
            self.reader.peek();
            let start = self.reader.offset();
            let key = self.reader.key()?;
            let text = self.reader.borrowed(key);
            let hidden = match &self.place {
                Place::Object(part, _) => {
                    self.next = match text {
                        "metadata" => Next::Metadata,
                        "spec" => Next::Spec,
                        _ => Next::Other,
                    };
                    *part == Part::Metadata && !matches!(text, "metadata" | "kind" | "apiVersion")
                }
                Place::Metadata(_) => text == "managedFields",
                Place::Spec(_) | Place::Inside => false,
            };
            // A key without escapes is noted as it is, one with escapes up to behind its colon.
            self.key = start..key.map_or(self.reader.offset(), |key| start + key.len() + 2);
            if !hidden {
                return Ok(Some(key));
            }
            self.reader.peek();
            let value = self.reader.offset();
            self.reader.skip()?;
            self.note(value);
        }
    }

    fn note(&mut self, value: usize) {
        let members = match &mut self.place {
            Place::Object(_, members) => &mut members.object,
            Place::Metadata(members) | Place::Spec(members) => &mut **members,
            Place::Inside => return,
        };
        members.push((self.key.clone(), value..self.reader.offset()));
    }
}

impl<'de> MapAccess<'de> for ObjectMembers<'_, 'de> {
    type Error = JsonError;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, JsonError> {
        match self.advance()? {
            Some(Some(text)) => seed.deserialize(Key::Plain(text)).map(Some),
            Some(None) => seed
                .deserialize(Key::Decoded(self.reader.decoded()))
                .map(Some),
            None => Ok(None),
        }
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, JsonError> {
        self.reader.peek();
        let start = self.reader.offset();
        let place = match &mut self.place {
            // Of metadata that comes twice, the last one counts.
            Place::Object(_, members) => match self.next {
                Next::Metadata => Place::Metadata(emptied(&mut members.metadata)),
                Next::Spec => Place::Spec(emptied(&mut members.spec)),
                Next::Other => Place::Inside,
            },
            _ => Place::Inside,
        };
        let value = seed
            .deserialize(Typed {
                reader: self.reader,
                place,
            })
            .map_err(|error| error.or_at(start))?;
        self.note(start);
        Ok(value)
    }
}

/// The elements of a list, one after the other.
struct Elements<'r, 'de> {
    reader: &'r mut Reader<'de>,
    first: bool,
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = JsonError;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, JsonError> {
        match self.reader.peek() {
            Some(b']') => return Ok(None),
            Some(b',') if !self.first => self.reader.bump(),
            _ if self.first => self.first = false,
            _ => return Err(self.reader.unexpected("a comma or the end of the list")),
        }
        if self.reader.peek() == Some(b']') {
            return Err(self.reader.unexpected("a value"));
        }
        let start = self.reader.offset();
        seed.deserialize(Typed::value(self.reader))
            .map(Some)
            .map_err(|error| error.or_at(start))
    }
}

/// An enum whose variant holds something: an object with one member.
struct Variant<'s, 'r, 'de>(&'s mut ObjectMembers<'r, 'de>);

impl<'de> EnumAccess<'de> for Variant<'_, '_, 'de> {
    type Error = JsonError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), JsonError> {
        let members = self.0;
        let Some(variant) = members.next_key_seed(seed)? else {
            return Err(members.reader.unexpected("a variant"));
        };
        Ok((variant, Variant(members)))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, '_, 'de> {
    type Error = JsonError;

    fn unit_variant(self) -> Result<(), JsonError> {
        let members = self.0;
        members.next_value()
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, JsonError> {
        let members = self.0;
        members.next_value_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, JsonError> {
        Typed::value(self.0.reader).deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        Typed::value(self.0.reader).deserialize_map(visitor)
    }
}

/// The JSON text of a value: an object whose one key is the name by which the type has asked for it.
struct JsonText<'de> {
    name: &'static str,
    text: Option<&'de str>,
}

impl<'de> MapAccess<'de> for JsonText<'de> {
    type Error = JsonError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, JsonError> {
        match self.text {
            Some(_) => seed.deserialize(Key::Plain(self.name)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, JsonError> {
        match self.text.take() {
            Some(text) => seed.deserialize(BorrowedStrDeserializer::new(text)),
            None => Err(JsonError::custom("a raw value is read once")),
        }
    }
}
