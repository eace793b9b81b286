//! Messages into values, by the table of types.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Number, Value};

use super::error::DecodeError;
use super::wire::{Reader, Wire};
use crate::json;
use crate::types::{Field, Shape, Slot, Type};

/// How deep messages may be nested.
const MAX_DEPTH: usize = 100;

/// How many values a body may hold: an empty message takes two bytes on the wire and far more in memory.
const MAX_VALUES: usize = 500_000;

/// The first second of the year 1.
pub(super) const ZERO_TIME: Timestamp = Timestamp::constant(-62_135_596_800, 0);

/// Reads the fields of an object.
pub(super) fn read(bytes: &[u8], ty: &'static Type) -> Result<Map<String, Value>, DecodeError> {
    let mut read = Read { values: 0 };
    let mut object = Map::new();
    read.message(bytes, ty, &[], &mut object, 0)?;
    Ok(object)
}

struct Read {
    values: usize,
}

impl Read {
    /// Reads a message into `object`. `inside` leads to it when it is a struct that Go inlines: a message of its own on the
    /// wire, but not in JSON.
    fn message(
        &mut self,
        bytes: &[u8],
        ty: &'static Type,
        inside: &[u32],
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        if depth > MAX_DEPTH {
            return Err(DecodeError::Malformed("it is nested too deep"));
        }
        let mut reader = Reader::new(bytes);
        while let Some((number, wire)) = reader.field()? {
            let mut way = inside.to_vec();
            way.push(number);
            let Some(field) = ty
                .fields
                .iter()
                .find(|field| field.number.starts_with(&way))
            else {
                continue;
            };
            if field.number.len() > way.len() {
                self.message(wire.bytes()?, ty, &way, object, depth + 1)?;
            } else {
                self.field(wire, field, object, depth)?;
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        wire: Wire<'_>,
        field: &'static Field,
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        match &field.slot.shape {
            Shape::List(item) => {
                let list = object
                    .entry(field.name)
                    .or_insert_with(|| Value::Array(Vec::new()));
                let Value::Array(list) = list else {
                    return Ok(());
                };
                self.repeated(wire, item, list, depth)
            }
            Shape::Map(_, item) => {
                let (key, value) = self.entry(wire.bytes()?, item, depth)?;
                let map = object
                    .entry(field.name)
                    .or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(map) = map {
                    map.insert(key, value);
                }
                Ok(())
            }
            // A message that stands twice is one message in two parts.
            Shape::Object(reference) => {
                let part = object
                    .entry(field.name)
                    .or_insert_with(|| Value::Object(Map::new()));
                self.count()?;
                match part {
                    Value::Object(part) => {
                        let ty = reference.get().inner();
                        self.message(wire.bytes()?, ty, &[], part, depth + 1)
                    }
                    _ => Ok(()),
                }
            }
            // Without a pointer an empty message is no time; with one it is the zero time.
            Shape::Time | Shape::MicroTime if !field.pointer && matches!(wire, Wire::Bytes([])) => {
                object.remove(field.name);
                Ok(())
            }
            _ => {
                let value = self.value(wire, &field.slot, depth)?;
                object.insert(field.name.to_owned(), value);
                Ok(())
            }
        }
    }

    /// Reads one item of a list, or all of them where numbers are packed.
    fn repeated(
        &mut self,
        wire: Wire<'_>,
        item: &'static Slot,
        list: &mut Vec<Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        let is_number = matches!(
            item.shape,
            Shape::Bool | Shape::Int32 | Shape::Int64 | Shape::Float64
        );
        let (true, Wire::Bytes(packed)) = (is_number, wire) else {
            list.push(self.value(wire, item, depth)?);
            return Ok(());
        };
        let mut reader = Reader::new(packed);
        while !reader.is_empty() {
            let wire = if matches!(item.shape, Shape::Float64) {
                Wire::Fixed64(u64::from_le_bytes(reader.array()?))
            } else {
                Wire::Varint(reader.varint()?)
            };
            list.push(self.value(wire, item, depth)?);
        }
        Ok(())
    }

    fn entry(
        &mut self,
        bytes: &[u8],
        item: &'static Slot,
        depth: usize,
    ) -> Result<(String, Value), DecodeError> {
        let mut key = String::new();
        let mut value = None;
        let mut reader = Reader::new(bytes);
        while let Some((number, wire)) = reader.field()? {
            match number {
                1 => key = wire.text()?,
                2 => value = Some(self.value(wire, item, depth + 1)?),
                _ => {}
            }
        }
        let value = match value {
            Some(value) => value,
            None => self.value(absent(&item.shape), item, depth + 1)?,
        };
        Ok((key, value))
    }

    fn value(
        &mut self,
        wire: Wire<'_>,
        slot: &'static Slot,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        self.count()?;
        Ok(match &slot.shape {
            Shape::String => Value::String(wire.text()?),
            Shape::Bool => Value::Bool(wire.varint()? != 0),
            Shape::Int32 => Value::from(int32(wire.varint()?)),
            Shape::Int64 => Value::from(wire.varint()?.cast_signed()),
            Shape::Float64 => Number::from_f64(wire.float()?).map_or(Value::Null, Value::Number),
            Shape::Bytes => Value::String(STANDARD.encode(wire.bytes()?)),
            Shape::Time => time(wire.bytes()?, "Z")?,
            Shape::MicroTime => time(wire.bytes()?, ".%6fZ")?,
            Shape::Quantity => {
                let text = part(wire.bytes()?, 1)?.map(Wire::text).transpose()?;
                Value::String(text.unwrap_or_else(|| "0".to_owned()))
            }
            Shape::IntOrString => int_or_string(wire.bytes()?)?,
            Shape::Raw | Shape::Fields | Shape::Json => {
                let text = part(wire.bytes()?, 1)?.map_or(Ok(&[][..]), Wire::bytes)?;
                embedded(text)?
            }
            Shape::Object(reference) => {
                let mut object = Map::new();
                let ty = reference.get().inner();
                self.message(wire.bytes()?, ty, &[], &mut object, depth + 1)?;
                Value::Object(object)
            }
            // A list where one value is expected is a message around it: `ExtraValue { items }`.
            Shape::List(item) => {
                let mut list = Vec::new();
                let mut reader = Reader::new(wire.bytes()?);
                while let Some((number, wire)) = reader.field()? {
                    if number == 1 {
                        self.repeated(wire, item, &mut list, depth + 1)?;
                    }
                }
                Value::Array(list)
            }
            Shape::Map(..) => return Err(DecodeError::Malformed("a map contains a map")),
            Shape::SchemaOrList | Shape::SchemaOrBool | Shape::SchemaOrNames => {
                self.schema(wire.bytes()?, slot, depth)?
            }
        })
    }

    /// Reads the messages for "a schema or something else".
    fn schema(
        &mut self,
        bytes: &[u8],
        slot: &'static Slot,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        let at = match slot.shape {
            Shape::SchemaOrBool => 2,
            _ => 1,
        };
        let mut schema = None;
        let mut list = Vec::new();
        let mut allows = false;
        let mut reader = Reader::new(bytes);
        while let Some((number, wire)) = reader.field()? {
            match (number, &slot.shape) {
                (number, _) if number == at => {
                    schema = Some(self.schema_props(wire, slot, depth)?);
                }
                (1, Shape::SchemaOrBool) => allows = wire.varint()? != 0,
                (2, Shape::SchemaOrNames) => list.push(Value::String(wire.text()?)),
                (2, Shape::SchemaOrList) => list.push(self.schema_props(wire, slot, depth)?),
                _ => {}
            }
        }
        Ok(match (schema, &slot.shape) {
            _ if !list.is_empty() => Value::Array(list),
            (Some(schema), _) => schema,
            (None, Shape::SchemaOrBool) => Value::Bool(allows),
            (None, _) => Value::Null,
        })
    }

    fn schema_props(
        &mut self,
        wire: Wire<'_>,
        slot: &'static Slot,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        self.count()?;
        let mut object = Map::new();
        if let Some(ty) = slot.object() {
            self.message(wire.bytes()?, ty.inner(), &[], &mut object, depth + 1)?;
        }
        Ok(Value::Object(object))
    }

    fn count(&mut self) -> Result<(), DecodeError> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(DecodeError::Malformed("it holds too many values"));
        }
        Ok(())
    }
}

/// What stands for a value that a map entry leaves out.
fn absent(shape: &Shape) -> Wire<'static> {
    match shape {
        Shape::Bool | Shape::Int32 | Shape::Int64 => Wire::Varint(0),
        Shape::Float64 => Wire::Fixed64(0),
        _ => Wire::Bytes(&[]),
    }
}

/// The last field of this number in a small message.
fn part(bytes: &[u8], wanted: u32) -> Result<Option<Wire<'_>>, DecodeError> {
    let mut found = None;
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.field()? {
        if number == wanted {
            found = Some(wire);
        }
    }
    Ok(found)
}

fn varint(bytes: &[u8], number: u32) -> Result<u64, DecodeError> {
    part(bytes, number)?.map_or(Ok(0), Wire::varint)
}

/// Negative numbers stand as 64 bits on the wire; Go cuts them.
#[expect(clippy::cast_possible_truncation, reason = "protobuf says so")]
fn int32(wire: u64) -> i32 {
    wire as i32
}

/// `Time { seconds, nanos }`; an empty message is Go's zero time.
fn time(bytes: &[u8], fraction: &str) -> Result<Value, DecodeError> {
    let time = if bytes.is_empty() {
        ZERO_TIME
    } else {
        let nanos = int32(varint(bytes, 2)?);
        Timestamp::new(varint(bytes, 1)?.cast_signed(), nanos)
            .map_err(|_| DecodeError::Malformed("a time is out of range"))?
    };
    let format = format!("%Y-%m-%dT%H:%M:%S{fraction}");
    Ok(Value::String(time.strftime(&format).to_string()))
}

/// `IntOrString { type, intVal, strVal }`.
fn int_or_string(bytes: &[u8]) -> Result<Value, DecodeError> {
    match varint(bytes, 1)? {
        0 => Ok(Value::from(int32(varint(bytes, 2)?))),
        1 => {
            let text = part(bytes, 3)?.map(Wire::text).transpose()?;
            Ok(Value::String(text.unwrap_or_default()))
        }
        _ => Err(DecodeError::Malformed("an IntOrString is neither")),
    }
}

fn embedded(text: &[u8]) -> Result<Value, DecodeError> {
    if text.is_empty() {
        return Ok(Value::Null);
    }
    let parsed = json::parse(text).map_err(|error| DecodeError::EmbeddedJson(error.to_string()))?;
    Ok(parsed.value)
}
