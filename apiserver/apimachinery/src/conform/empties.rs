//! Takes away the lists, maps and bytes that are empty, and the zero times and fractions of some kinds: Go has them in memory,
//! but not wherever it writes them.

use serde_json::Value;

use super::time::{self, Precision};
use crate::meta::GroupVersionKind;
use crate::types::{self, Empty, Ownership, Shape, Slot, Type};

/// The place that an object is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Medium {
    /// An answer or a review: `omitempty` leaves out what is empty, and the rest stays as it is.
    Json,
    /// The comparison by which fields get their managers: as JSON, but what is within a list that is owned as a whole is
    /// compared as it is in memory.
    Managers,
    /// The storage, whose protobuf has no word for an empty list: what is read back is none.
    Storage,
}

/// Makes a conformed object what is read back from a medium.
pub fn write_empties(kind: &GroupVersionKind, value: &mut Value, medium: Medium) {
    if let Some(root) = types::root(kind) {
        fields(value, root.inner(), medium);
    }
}

/// Makes a part of a conformed object, whose type has the name `kind`, what is written to a medium.
pub fn write_part_empties(kind: &str, part: &mut Value, medium: Medium) {
    if let Some(ty) = types::by_name(kind) {
        fields(part, ty.inner(), medium);
    }
}

/// Bytes that storage, which is protobuf, keeps otherwise than readers see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "readers see more or less")]
pub enum UnseenBytes {
    /// They are empty, and JSON leaves them out.
    Empty,
    /// They are none in a map, and read back as empty ones.
    Null,
}

/// The part of a built-in kind that has bytes: its status, or else its spec.
pub fn part_with_bytes(kind: &GroupVersionKind) -> Option<&'static str> {
    let root = types::root(kind)?.inner();
    ["status", "spec"].into_iter().find(|part| {
        let part = root.field(part).and_then(|field| field.slot.object());
        part.is_some_and(|part| {
            let mut fields = part.inner().fields.iter();
            fields.any(|field| matches!(field.slot.shape, Shape::Bytes))
        })
    })
}

/// The bytes of an object that are stored otherwise than readers see them.
pub fn unseen_bytes(kind: &GroupVersionKind, object: &Value) -> Option<UnseenBytes> {
    unseen(object, types::root(kind)?.inner())
}

fn unseen(value: &Value, ty: &'static Type) -> Option<UnseenBytes> {
    let members = value.as_object()?;
    let found = members.iter().filter_map(|(name, value)| {
        let field = ty.field(name)?;
        match (&field.slot.shape, value) {
            (Shape::Bytes, _) => {
                let is_left_out = is_empty(value, &field.slot) && field.empty != Empty::Written;
                is_left_out.then_some(UnseenBytes::Empty)
            }
            (Shape::Map(_, item), Value::Object(map)) if matches!(item.shape, Shape::Bytes) => map
                .values()
                .any(Value::is_null)
                .then_some(UnseenBytes::Null),
            _ => {
                let below = field.slot.object()?.inner();
                let of = |value: &Value| unseen(value, below);
                match (&field.slot.shape, value) {
                    (Shape::Map(..), Value::Object(map)) => map.values().filter_map(of).max(),
                    (_, Value::Array(items)) => items.iter().filter_map(of).max(),
                    _ => of(value),
                }
            }
        }
    });
    found.max()
}

fn fields(value: &mut Value, ty: &'static Type, medium: Medium) {
    let Value::Object(members) = value else {
        return;
    };
    members.retain(|name, value| {
        let Some(field) = ty.field(name) else {
            return true;
        };
        if is_zero_time(value, &field.slot) {
            *value = Value::Null;
            return field.empty != Empty::OmittedStructsToo;
        }
        if time::has_unwritten(value, &field.slot.shape) {
            let written = value.as_str().and_then(time::written_time);
            *value = written.map_or(Value::Null, |written| written.into_owned().into());
            return true;
        }
        if !is_empty(value, &field.slot) {
            let is_whole = matches!(field.slot.shape, Shape::List(_))
                && matches!(field.ownership, Ownership::Usual | Ownership::Atomic);
            if medium != Medium::Managers || !is_whole {
                within(value, &field.slot, medium);
            }
            return true;
        }
        // What is stored as JSON keeps an empty list, and protobuf knows empty bytes.
        let is_kept = ty.is_stored_as_json() || matches!(field.slot.shape, Shape::Bytes);
        if medium == Medium::Storage && !is_kept {
            *value = Value::Null;
        }
        field.empty == Empty::Written
    });
}

/// Whether a value is the zero time, as it is in memory where that differs from none.
pub(crate) fn is_zero_time(value: &Value, slot: &Slot) -> bool {
    Precision::of(&slot.shape).is_some_and(|precision| *value == precision.zero())
}

fn is_empty(value: &Value, slot: &Slot) -> bool {
    match (&slot.shape, value) {
        (Shape::List(_), Value::Array(list)) => list.is_empty(),
        (Shape::Map(..), Value::Object(map)) => map.is_empty(),
        (Shape::Bytes, Value::String(text)) => text.is_empty(),
        _ => false,
    }
}

fn within(value: &mut Value, slot: &'static Slot, medium: Medium) {
    match (&slot.shape, &mut *value) {
        (Shape::Object(reference), _) => fields(value, reference.get().inner(), medium),
        (Shape::List(item), Value::Array(list)) => {
            for value in list {
                within(value, item, medium);
            }
        }
        (Shape::Map(_, item), Value::Object(map)) => {
            for (_, value) in map.iter_mut() {
                if value.is_null() && matches!(item.shape, Shape::Bytes) && medium != Medium::Json {
                    *value = Value::String(String::new());
                }
                within(value, item, medium);
            }
        }
        (Shape::SchemaOrList | Shape::SchemaOrBool | Shape::SchemaOrNames, _) => {
            let Some(schema) = slot.object() else {
                return;
            };
            match value {
                Value::Array(schemas) => {
                    for value in schemas {
                        fields(value, schema.inner(), medium);
                    }
                }
                value => fields(value, schema.inner(), medium),
            }
        }
        _ => {}
    }
}
