//! What Go has at a place in an object: structs, maps, lists and strings are told apart before what is in them is merged.

use super::error::{Result, failed};
use super::{Field, Schema, Strategy};
use crate::go_text::quoted;
use crate::types::{FieldRef, Shape, Slot, TypeRef};

/// A place in an object of a built-in kind.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Place {
    /// The object itself.
    Object(TypeRef),
    /// A field or an item in it.
    Slot {
        /// What it holds.
        slot: &'static Slot,
        /// Whether Go has a pointer here.
        pointer: bool,
    },
}

impl Schema for Place {
    fn map(&self, name: &str) -> Result<Field<Self>> {
        let field = self.field(name)?;
        Ok(merged(field, field.slot(), field.is_pointer()))
    }

    fn list(&self, name: &str) -> Result<Field<Self>> {
        let field = self.field(name)?;
        match &field.slot().shape {
            Shape::List(item) if kind(item) == "slice" => Err(failed("unexpected slice of slice")),
            Shape::List(item) => Ok(merged(field, item, false)),
            Shape::Bytes => Ok(merged(field, field.slot(), false)),
            _ if field.is_pointer() => Ok(merged(field, field.slot(), false)),
            // Go names what has the field, not the field.
            _ => Err(failed(format!(
                "expected slice or array type, but got: {}",
                self.kind()
            ))),
        }
    }
}

impl Place {
    fn field(self, name: &str) -> Result<FieldRef> {
        let of = match self {
            Self::Object(of) => of,
            Self::Slot { slot, .. } => match &slot.shape {
                Shape::Object(reference) => reference.get(),
                _ if kind(slot) == "struct" => {
                    let called = slot.go_type();
                    let (_, called) = called.rsplit_once('.').unwrap_or_default();
                    return Err(no_field(called, name));
                }
                _ => {
                    return Err(failed(format!(
                        "merging an object in json but data type is not struct, instead is: {}",
                        kind(slot)
                    )));
                }
            },
        };
        let is_alike = |field: &FieldRef| field.name().eq_ignore_ascii_case(name);
        of.field(name)
            .or_else(|| of.fields().find(is_alike))
            .ok_or_else(|| no_field(of.short_name(), name))
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Object(_) => "struct",
            Self::Slot { pointer: true, .. } => "ptr",
            Self::Slot { slot, .. } => kind(slot),
        }
    }
}

fn merged(field: FieldRef, slot: &'static Slot, pointer: bool) -> Field<Place> {
    let merge = field.merge();
    Field {
        strategy: if merge.merge {
            Strategy::Merge
        } else if merge.replace {
            Strategy::Replace
        } else {
            Strategy::Default
        },
        merge_key: merge.key.unwrap_or_default().to_owned(),
        below: Place::Slot { slot, pointer },
    }
}

fn no_field(of: &str, name: &str) -> super::StrategicError {
    let name = quoted(name);
    failed(format!(
        "unable to find api field in struct {of} for the json field {name}"
    ))
}

/// Go's kind of the type at a place.
fn kind(slot: &Slot) -> &'static str {
    match slot.shape {
        Shape::String => "string",
        Shape::Bool => "bool",
        Shape::Int32 => "int32",
        Shape::Int64 => "int64",
        Shape::Float64 => "float64",
        Shape::Bytes | Shape::List(_) => "slice",
        Shape::Map(..) => "map",
        Shape::Time
        | Shape::MicroTime
        | Shape::Quantity
        | Shape::IntOrString
        | Shape::Raw
        | Shape::Fields
        | Shape::Json
        | Shape::SchemaOrList
        | Shape::SchemaOrBool
        | Shape::SchemaOrNames
        | Shape::Object(_) => "struct",
    }
}
