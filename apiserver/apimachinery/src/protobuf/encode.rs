//! Values into messages, by the table of types: field by field in the order of the numbers, as the code that Kubernetes
//! generates for its types writes them.
//!
//! Go's types have values where protobuf has optional fields, so that empty values are written, too;
//! only pointers, lists, maps and bytes can be missing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::message::ZERO_TIME;
use crate::json;
use crate::types::{Field, Shape, Slot, Type, TypeRef};

/// A message that is being written.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The fields of an object; those of none at all are empty.
    pub(super) fn object(&mut self, object: Option<&Map<String, Value>>, ty: &'static Type) {
        self.fields(object, ty, &ty.numbered, 0);
    }

    /// Fields of one message. Where Go inlines a struct, its fields are a message of their own on the wire.
    fn fields(
        &mut self,
        object: Option<&Map<String, Value>>,
        ty: &'static Type,
        numbered: &[u16],
        depth: usize,
    ) {
        let number = |at: &u16| ty.fields[usize::from(*at)].number[depth];
        for same in numbered.chunk_by(|a, b| number(a) == number(b)) {
            let field = &ty.fields[usize::from(same[0])];
            if field.number.len() > depth + 1 {
                self.message(number(&same[0]), |inlined| {
                    inlined.fields(object, ty, same, depth + 1);
                });
            } else {
                let value = object.and_then(|object| object.get(field.name));
                self.field(
                    number(&same[0]),
                    field,
                    value.filter(|value| !value.is_null()),
                );
            }
        }
    }

    fn field(&mut self, number: u32, field: &'static Field, value: Option<&Value>) {
        let slot = &field.slot;
        match (&slot.shape, value) {
            // The one list that is a message: `Verbs { items }`.
            (Shape::List(item), Some(Value::Array(items))) if slot.named == Some("v1.Verbs") => {
                self.message(number, |verbs| verbs.items(1, items, item));
            }
            (Shape::List(item), Some(Value::Array(items))) => self.items(number, items, item),
            (Shape::Map(_, item), Some(Value::Object(members))) => {
                for (key, value) in members {
                    self.message(number, |entry| {
                        entry.text(1, key);
                        if !(value.is_null() && matches!(item.shape, Shape::Bytes)) {
                            entry.value(2, item, Some(value));
                        }
                    });
                }
            }
            (Shape::List(_) | Shape::Map(..) | Shape::Bytes, None) => {}
            (_, None) if field.pointer => {}
            (_, value) => self.value(number, slot, value),
        }
    }

    fn items(&mut self, number: u32, items: &[Value], item: &'static Slot) {
        for value in items {
            self.value(number, item, Some(value));
        }
    }

    /// A value that is there; none stands for the empty one of its type.
    fn value(&mut self, number: u32, slot: &'static Slot, value: Option<&Value>) {
        let text = || value.and_then(Value::as_str).unwrap_or_default();
        let whole = || value.and_then(Value::as_i64).unwrap_or_default();
        match &slot.shape {
            Shape::String => self.text(number, text()),
            Shape::Bool => self.varint(number, u64::from(value == Some(&Value::Bool(true)))),
            Shape::Int32 | Shape::Int64 => self.varint(number, whole().cast_unsigned()),
            Shape::Float64 => {
                let float = value.and_then(Value::as_f64).unwrap_or_default();
                self.tag(number, 1);
                self.0.extend_from_slice(&float.to_le_bytes());
            }
            Shape::Bytes => {
                let bytes = STANDARD.decode(text()).unwrap_or_default();
                self.bytes(number, &bytes);
            }
            Shape::Time | Shape::MicroTime => self.message(number, |message| message.time(text())),
            Shape::Quantity => self.message(number, |message| {
                message.text(1, if text().is_empty() { "0" } else { text() });
            }),
            Shape::IntOrString => self.message(number, |message| {
                let is_text = value.is_some_and(Value::is_string);
                message.varint(1, u64::from(is_text));
                message.varint(2, whole().cast_unsigned());
                message.text(3, text());
            }),
            Shape::Raw => self.message(number, |message| {
                message.json(value.filter(|value| !value.is_null()));
            }),
            Shape::Fields | Shape::Json => self.message(number, |message| message.json(value)),
            Shape::Object(reference) => self.message(number, |message| {
                let object = value.and_then(Value::as_object);
                message.object(object, reference.get().inner());
            }),
            // A list where one value is expected is a message around it: `ExtraValue { items }`.
            Shape::List(item) => self.message(number, |message| {
                let items = value.and_then(Value::as_array);
                message.items(1, items.map_or(&[], Vec::as_slice), item);
            }),
            // No type of Kubernetes has a map of maps.
            Shape::Map(..) => {}
            Shape::SchemaOrList | Shape::SchemaOrBool | Shape::SchemaOrNames => {
                self.message(number, |message| message.schema(slot, value));
            }
        }
    }

    /// The messages for "a schema or something else".
    fn schema(&mut self, slot: &'static Slot, value: Option<&Value>) {
        let ty = || slot.object().map(TypeRef::inner);
        let mut at = 1;
        if matches!(slot.shape, Shape::SchemaOrBool) {
            let allows = matches!(value, Some(Value::Bool(true) | Value::Object(_)));
            self.varint(1, u64::from(allows));
            at = 2;
        }
        match value {
            Some(Value::Object(schema)) => {
                if let Some(ty) = ty() {
                    self.message(at, |message| message.object(Some(schema), ty));
                }
            }
            Some(Value::Array(items)) => {
                for item in items {
                    match (item, ty()) {
                        (Value::Object(schema), Some(ty)) => {
                            self.message(2, |message| message.object(Some(schema), ty));
                        }
                        _ => self.text(2, item.as_str().unwrap_or_default()),
                    }
                }
            }
            _ => {}
        }
    }

    /// `Time { seconds, nanos }`; Go's zero time is an empty message.
    fn time(&mut self, text: &str) {
        let Ok(time) = text.parse::<Timestamp>() else {
            return;
        };
        if time != ZERO_TIME {
            let nanos = i64::from(time.subsec_nanosecond());
            let seconds = time.as_second() - i64::from(nanos < 0);
            let nanos = if nanos < 0 {
                nanos + 1_000_000_000
            } else {
                nanos
            };
            self.varint(1, seconds.cast_unsigned());
            self.varint(2, nanos.cast_unsigned());
        }
    }

    fn json(&mut self, value: Option<&Value>) {
        if let Some(value) = value {
            let mut text = Vec::new();
            json::write(&mut text, value);
            self.bytes(1, &text);
        }
    }

    /// A message within this one. Its length is known, and put before it, when it is written.
    pub(super) fn message(&mut self, number: u32, write: impl FnOnce(&mut Self)) {
        self.tag(number, 2);
        let start = self.0.len();
        write(self);
        let length = self.0.len() - start;
        self.number(length as u64);
        let digits = self.0.len() - start - length;
        self.0[start..].rotate_right(digits);
    }

    pub(super) fn text(&mut self, number: u32, text: &str) {
        self.bytes(number, text.as_bytes());
    }

    pub(super) fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.tag(number, 2);
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn varint(&mut self, number: u32, value: u64) {
        self.tag(number, 0);
        self.number(value);
    }

    fn tag(&mut self, number: u32, wire: u32) {
        self.number(u64::from(number << 3 | wire));
    }

    fn number(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }
}
