//! Makes images: of anything that serde can serialize, and of JSON.

use std::fmt::Display;
use std::sync::Arc;

use serde::ser::{self, Serialize, Serializer};

use super::node::{Kind, LONG_TEXT};
use super::tape::Image;
use crate::json::{JsonError, Reader, is_json_text};

/// From this length on, a string is kept outside the image.
const LONG: usize = 512;

/// Up to this number, long strings are looked up by comparing them one by one.
const FEW: usize = 32;

/// How deeply JSON inside an object can be nested.
pub(super) const DEEPEST: u8 = 128;

/// The reason why an object has no image.
///
/// ```
/// use std::collections::BTreeMap;
/// use kubewright_review::Image;
///
/// let keyed_by_pairs = BTreeMap::from([((1, 2), "a")]);
/// let error = Image::of(&keyed_by_pairs, 0).unwrap_err();
/// assert!(error.to_string().starts_with("cannot write the object as JSON"));
/// ```
#[derive(Debug, thiserror::Error)]
#[error("cannot write the object as JSON: {0}")]
pub struct ImageError(String);

impl ser::Error for ImageError {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// Copies a JSON text, nested at most as deeply as typed values can be, into an image.
pub(super) fn transcribe(
    reader: &mut Reader<'_>,
    image: &mut Image,
    depth: u8,
) -> Result<(), JsonError> {
    if depth == 0 {
        return Err(reader.error("values are nested too deep"));
    }
    let done = match reader.peek() {
        Some(b'{') => {
            reader.bump();
            let map = Composite::open(image, Kind::Map);
            let mut more = reader.has_members(b'}');
            while more {
                let key = reader.key()?;
                write_key(map.image, reader.borrowed(key)).map_err(|error| at(reader, &error))?;
                transcribe(reader, map.image, depth - 1)?;
                more = reader.has_more(b'}')?;
            }
            map.close()
        }
        Some(b'[') => {
            reader.bump();
            let list = Composite::open(image, Kind::List);
            let mut more = reader.has_members(b']');
            while more {
                transcribe(reader, list.image, depth - 1)?;
                more = reader.has_more(b']')?;
            }
            list.close()
        }
        _ => return scalar(reader, image),
    };
    done.map_err(|error| at(reader, &error))
}

fn scalar(reader: &mut Reader<'_>, image: &mut Image) -> Result<(), JsonError> {
    let value = Value(image);
    let done = match reader.peek() {
        Some(b'"') => {
            reader.bump();
            let text = reader.string()?;
            value.serialize_str(reader.borrowed(text))
        }
        Some(b't') => {
            reader.word("true")?;
            value.serialize_bool(true)
        }
        Some(b'f') => {
            reader.word("false")?;
            value.serialize_bool(false)
        }
        Some(b'n') => {
            reader.word("null")?;
            value.serialize_unit()
        }
        Some(b'-' | b'0'..=b'9') => match reader.number()? {
            (text, true) if text.parse::<u64>().is_ok() => {
                value.serialize_u64(text.parse().unwrap_or_default())
            }
            (text, true) if text.parse::<i64>().is_ok() => {
                value.serialize_i64(text.parse().unwrap_or_default())
            }
            (text, _) => value.serialize_f64(text.parse().unwrap_or(f64::NAN)),
        },
        _ => return Err(reader.unexpected("a value")),
    };
    done.map_err(|error| at(reader, &error))
}

fn at(reader: &Reader<'_>, error: &ImageError) -> JsonError {
    JsonError::new(error.to_string(), reader.offset())
}

/// Appends one value to an image.
pub(super) struct Value<'i>(pub(super) &'i mut Image);

impl Value<'_> {
    #[inline]
    fn number(self, kind: Kind, bits: u64) {
        let mut bytes = [kind as u8; 9];
        bytes[1..].copy_from_slice(&bits.to_le_bytes());
        self.0.tape.extend_from_slice(&bytes);
    }
}

impl Image {
    /// Appends a long string: its number.
    fn long_text(&mut self, text: &str) -> Result<(), ImageError> {
        let number = self.number_of(text).unwrap_or_else(|| {
            self.strings.push(text.into());
            self.strings.len() - 1
        });
        self.expected = number + 1;
        self.tape.push(LONG_TEXT);
        self.tape.extend_from_slice(&length(number)?);
        Ok(())
    }

    /// The number of a string that this image or an earlier one of the object contains, so that equal strings have equal bytes.
    fn number_of(&mut self, text: &str) -> Option<usize> {
        if self
            .strings
            .get(self.expected)
            .is_some_and(|next| **next == *text)
        {
            return Some(self.expected);
        }
        if self.strings.len() <= FEW {
            return self.strings.iter().position(|known| **known == *text);
        }
        for number in self.numbers.len()..self.strings.len() {
            self.numbers
                .insert(Arc::clone(&self.strings[number]), number);
        }
        self.numbers.get(text).copied()
    }
}

#[inline]
fn length(length: usize) -> Result<[u8; 4], ImageError> {
    match u32::try_from(length) {
        Ok(length) => Ok(length.to_le_bytes()),
        Err(_) => Err(ImageError("it is larger than 4 GiB".to_owned())),
    }
}

/// Appends the members of a list or map, and at the end their length.
pub(super) struct Composite<'i> {
    image: &'i mut Image,
    start: usize,
    /// How many of the maps just opened enclose this value as the content of an enum's variant.
    outer: Option<usize>,
}

impl<'i> Composite<'i> {
    #[inline]
    fn open(image: &'i mut Image, kind: Kind) -> Self {
        image.tape.extend_from_slice(&[kind as u8, 0, 0, 0, 0]);
        let start = image.tape.len();
        Self {
            image,
            start,
            outer: None,
        }
    }

    fn open_variant(image: &'i mut Image, kind: Kind, variant: &str) -> Result<Self, ImageError> {
        image.tape.extend_from_slice(&[Kind::Map as u8, 0, 0, 0, 0]);
        let outer = image.tape.len();
        write_key(image, variant)?;
        let mut this = Self::open(image, kind);
        this.outer = Some(outer);
        Ok(this)
    }

    #[inline]
    fn close(self) -> Result<(), ImageError> {
        for start in [Some(self.start), self.outer].into_iter().flatten() {
            let length = length(self.image.tape.len() - start)?;
            self.image.tape[start - 4..start].copy_from_slice(&length);
        }
        Ok(())
    }
}

#[inline]
fn write_key(image: &mut Image, key: &str) -> Result<(), ImageError> {
    image.tape.extend_from_slice(&length(key.len())?);
    image.tape.extend_from_slice(key.as_bytes());
    Ok(())
}

impl<'i> Serializer for Value<'i> {
    type Ok = ();
    type Error = ImageError;
    type SerializeSeq = Composite<'i>;
    type SerializeTuple = Composite<'i>;
    type SerializeTupleStruct = Composite<'i>;
    type SerializeTupleVariant = Composite<'i>;
    type SerializeMap = Composite<'i>;
    type SerializeStruct = Struct<'i>;
    type SerializeStructVariant = Composite<'i>;

    #[inline]
    fn serialize_bool(self, value: bool) -> Result<(), ImageError> {
        self.0
            .tape
            .push(if value { Kind::True } else { Kind::False } as u8);
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), ImageError> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<(), ImageError> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), ImageError> {
        self.serialize_i64(value.into())
    }

    #[inline]
    fn serialize_i64(self, value: i64) -> Result<(), ImageError> {
        let kind = if value < 0 {
            Kind::Signed
        } else {
            Kind::Unsigned
        };
        self.number(kind, value.cast_unsigned());
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> Result<(), ImageError> {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), ImageError> {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), ImageError> {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), ImageError> {
        self.number(Kind::Unsigned, value);
        Ok(())
    }

    fn serialize_i128(self, value: i128) -> Result<(), ImageError> {
        match (u64::try_from(value), i64::try_from(value)) {
            (Ok(value), _) => self.serialize_u64(value),
            (_, Ok(value)) => self.serialize_i64(value),
            _ => Err(out_of_range()),
        }
    }

    fn serialize_u128(self, value: u128) -> Result<(), ImageError> {
        self.serialize_u64(u64::try_from(value).map_err(|_| out_of_range())?)
    }

    fn serialize_f32(self, value: f32) -> Result<(), ImageError> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), ImageError> {
        // serde_json writes null too, since JSON has no word for these numbers.
        if value.is_finite() {
            self.number(Kind::Float, value.to_bits());
            Ok(())
        } else {
            self.serialize_unit()
        }
    }

    fn serialize_char(self, value: char) -> Result<(), ImageError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), ImageError> {
        if value.len() >= LONG {
            return self.0.long_text(value);
        }
        self.0.tape.push(Kind::Text as u8);
        write_key(self.0, value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), ImageError> {
        let mut list = self.serialize_seq(None)?;
        for byte in value {
            ser::SerializeSeq::serialize_element(&mut list, byte)?;
        }
        list.close()
    }

    fn serialize_none(self) -> Result<(), ImageError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), ImageError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), ImageError> {
        self.0.tape.push(Kind::Null as u8);
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), ImageError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), ImageError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), ImageError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), ImageError> {
        let mut map = self.serialize_map(Some(1))?;
        ser::SerializeMap::serialize_entry(&mut map, variant, value)?;
        map.close()
    }

    #[inline]
    fn serialize_seq(self, _: Option<usize>) -> Result<Composite<'i>, ImageError> {
        Ok(Composite::open(self.0, Kind::List))
    }

    fn serialize_tuple(self, _: usize) -> Result<Composite<'i>, ImageError> {
        Ok(Composite::open(self.0, Kind::List))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Composite<'i>, ImageError> {
        Ok(Composite::open(self.0, Kind::List))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Composite<'i>, ImageError> {
        Composite::open_variant(self.0, Kind::List, variant)
    }

    #[inline]
    fn serialize_map(self, _: Option<usize>) -> Result<Composite<'i>, ImageError> {
        Ok(Composite::open(self.0, Kind::Map))
    }

    #[inline]
    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Struct<'i>, ImageError> {
        Ok(if is_json_text(name) {
            Struct::Json(self.0)
        } else {
            Struct::Fields(Composite::open(self.0, Kind::Map))
        })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Composite<'i>, ImageError> {
        Composite::open_variant(self.0, Kind::Map, variant)
    }
}

fn out_of_range() -> ImageError {
    ImageError("a number is out of range".to_owned())
}

impl ser::SerializeSeq for Composite<'_> {
    type Ok = ();
    type Error = ImageError;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ImageError> {
        value.serialize(Value(self.image))
    }

    fn end(self) -> Result<(), ImageError> {
        self.close()
    }
}

impl ser::SerializeTuple for Composite<'_> {
    type Ok = ();
    type Error = ImageError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ImageError> {
        value.serialize(Value(self.image))
    }

    fn end(self) -> Result<(), ImageError> {
        self.close()
    }
}

impl ser::SerializeTupleStruct for Composite<'_> {
    type Ok = ();
    type Error = ImageError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ImageError> {
        value.serialize(Value(self.image))
    }

    fn end(self) -> Result<(), ImageError> {
        self.close()
    }
}

impl ser::SerializeTupleVariant for Composite<'_> {
    type Ok = ();
    type Error = ImageError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ImageError> {
        value.serialize(Value(self.image))
    }

    fn end(self) -> Result<(), ImageError> {
        self.close()
    }
}

impl ser::SerializeMap for Composite<'_> {
    type Ok = ();
    type Error = ImageError;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ImageError> {
        let start = self.image.tape.len();
        key.serialize(Value(self.image))?;
        key_of_value(self.image, start)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ImageError> {
        value.serialize(Value(self.image))
    }

    fn end(self) -> Result<(), ImageError> {
        self.close()
    }
}

/// Makes a key of the value that was just written: strings as they are, numbers and booleans as text.
#[inline]
fn key_of_value(image: &mut Image, start: usize) -> Result<(), ImageError> {
    let tag = image.tape[start];
    if tag == Kind::Text as u8 {
        image.tape.remove(start);
        return Ok(());
    }
    if tag == LONG_TEXT {
        let text = super::Node::new(&image.tape[start..], &image.strings)
            .text()
            .to_owned();
        image.tape.truncate(start);
        return write_key(image, &text);
    }
    if tag == Kind::Null as u8 || tag >= Kind::List as u8 {
        return Err(ImageError("a key is not a string".to_owned()));
    }
    let mut text = Vec::new();
    super::Node::new(&image.tape[start..], &image.strings).write(&mut text);
    image.tape.truncate(start);
    image.tape.extend_from_slice(&length(text.len())?);
    image.tape.extend_from_slice(&text);
    Ok(())
}

/// A struct, or a piece of JSON in the disguise of one.
pub(super) enum Struct<'i> {
    Fields(Composite<'i>),
    Json(&'i mut Image),
}

impl ser::SerializeStruct for Struct<'_> {
    type Ok = ();
    type Error = ImageError;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), ImageError> {
        match self {
            Self::Fields(fields) => {
                write_key(fields.image, key)?;
                value.serialize(Value(fields.image))
            }
            Self::Json(image) => {
                let text = Image::of(value, 0)?;
                transcribe(&mut Reader::new(text.root().text()), image, DEEPEST)
                    .map_err(|error| ImageError(error.to_string()))
            }
        }
    }

    fn end(self) -> Result<(), ImageError> {
        match self {
            Self::Fields(fields) => fields.close(),
            Self::Json(_) => Ok(()),
        }
    }
}

impl ser::SerializeStructVariant for Composite<'_> {
    type Ok = ();
    type Error = ImageError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), ImageError> {
        write_key(self.image, key)?;
        value.serialize(Value(self.image))
    }

    fn end(self) -> Result<(), ImageError> {
        self.close()
    }
}
