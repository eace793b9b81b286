//! The walk through an object beside its type.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::time::{self, Precision};
use crate::types::{Empty, Field, Shape, Slot, Type};

/// How deep an object may be nested; Go's decoder has the same limit, but no kind comes near it.
pub(super) const MAX_DEPTH: usize = 500;

/// Go's decoder stops collecting unknown fields at this number.
const MAX_UNKNOWN: usize = 100;

/// What there is to say of an object that was conformed.
#[derive(Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "rules of custom resources conform objects to their schemas, with the same outcome"
)]
pub struct Conformed {
    /// The fields that the kind does not have and that were dropped (`spec.foo`, `spec.containers[0].bar`), in the order of
    /// the object's keys.
    pub unknown: Vec<String>,
    /// Whether the object has lists or maps that are empty, zero times that differ from none, or times that are finer than they
    /// are written. Go tells them from what it writes as long as it has them in memory.
    pub empties: bool,
}

/// Which of Go's readers finds the unknown fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// The decoder of JSON.
    Decoder,
    /// The converter from unstructured objects: it finds all of them, and does not know the keys of the maps around them.
    Converter,
}

pub(super) struct Walk {
    pub(super) conformed: Conformed,
    pub(super) reader: Reader,
    /// False inside values that Go decodes apart, where it no longer looks for unknown fields.
    pub(super) reporting: bool,
    /// The first value of a wrong type; Go reads on behind it.
    pub(super) wrong: Option<String>,
    /// Everything that is wrong, and where, to find out what comes first in a text.
    pub(super) faults: Option<Vec<Fault>>,
}

/// Something that is wrong with an object.
pub(super) struct Fault {
    pub(super) path: String,
    /// The same in the order of Go's structs: which field or item it is, from the object down.
    pub(super) turns: Vec<usize>,
    pub(super) why: String,
    /// Whether Go's decoder ends there.
    pub(super) ends: bool,
}

/// An error that ends Go's decoder at once: what a type's own `UnmarshalJSON` returns.
pub(super) struct Stop(pub(super) String);

/// Where the walk is: a chain through the stack, so that a correct object costs no allocation.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) parent: Option<&'a Self>,
    pub(super) step: Step<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    /// A field, and the type that has it.
    Field(&'static Type, &'static Field),
    Key(&'a str),
    Index(usize),
}

/// What becomes of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Keep,
    /// There is nothing in it: what Go's zero value is.
    IsEmpty,
}

impl Walk {
    pub(super) fn new() -> Self {
        Self {
            conformed: Conformed::default(),
            reader: Reader::Decoder,
            reporting: true,
            wrong: None,
            faults: None,
        }
    }

    /// Conforms the fields of an object. Keys and fields are both sorted, so one pass over both finds every field.
    pub(super) fn fields(
        &mut self,
        object: &mut Map<String, Value>,
        ty: &'static Type,
        parent: Option<&Place<'_>>,
        depth: usize,
    ) -> Result<(), Stop> {
        if depth > MAX_DEPTH {
            return Err(Stop("exceeded max depth".to_owned()));
        }
        let mut fields = ty.fields.iter();
        let mut next = fields.next();
        // Nearly every object keeps all it has, so that noting what goes is cheaper than `retain`.
        let mut gone = Vec::new();
        for (key, value) in &mut *object {
            let field = loop {
                match next.map(|field| field.name.cmp(key)) {
                    Some(Ordering::Less) => next = fields.next(),
                    Some(Ordering::Equal) => break next,
                    Some(Ordering::Greater) | None => break None,
                }
            };
            let Some(field) = field else {
                self.unknown_field(parent, key);
                gone.push(key.clone());
                continue;
            };
            let place = Place {
                parent,
                step: Step::Field(ty, field),
            };
            let stays = self.field(value, field, &place, depth);
            if !self.noted(stays, true, &place)? {
                gone.push(key.clone());
            }
        }
        for key in gone {
            object.remove(&key);
        }
        complete(object, ty);
        Ok(())
    }

    /// Conforms one field; false if Go would not write it.
    pub(super) fn field(
        &mut self,
        value: &mut Value,
        field: &'static Field,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<bool, Stop> {
        let was_null = value.is_null();
        let fate = if was_null && !reads_null(&field.slot.shape) {
            Fate::IsEmpty
        } else {
            self.value(value, &field.slot, place, depth)?
        };
        let is_zero_time = fate == Fate::IsEmpty
            && value.is_string()
            && Precision::of(&field.slot.shape).is_some();
        if fate == Fate::Keep || (field.pointer && !was_null) {
            self.conformed.empties |= is_zero_time || time::has_unwritten(value, &field.slot.shape);
            return Ok(true);
        }
        let is_list = matches!(
            field.slot.shape,
            Shape::Bytes | Shape::List(_) | Shape::Map(..)
        );
        if is_zero_time || (is_list && !was_null && !value.is_null()) {
            self.conformed.empties = true;
            return Ok(true);
        }
        let is_struct = !field.pointer && zero_is_written(&field.slot.shape);
        let written = match field.empty {
            Empty::Written => true,
            Empty::Omitted => is_struct,
            Empty::OmittedStructsToo => false,
        };
        if written {
            *value = nothing(field);
        }
        Ok(written)
    }

    pub(super) fn value(
        &mut self,
        value: &mut Value,
        slot: &'static Slot,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<Fate, Stop> {
        match (&slot.shape, &mut *value) {
            (Shape::Object(reference), Value::Object(object)) => {
                let ty = reference.get().inner();
                self.fields(object, ty, Some(place), depth + 1)?;
                Ok(Fate::Keep)
            }
            (Shape::List(item), Value::Array(list)) => {
                for (index, value) in list.iter_mut().enumerate() {
                    let place = Place {
                        parent: Some(place),
                        step: Step::Index(index),
                    };
                    let conformed = self.item(value, item, &place, depth);
                    self.noted(conformed, (), &place)?;
                }
                Ok(if list.is_empty() {
                    Fate::IsEmpty
                } else {
                    Fate::Keep
                })
            }
            (Shape::Map(_, item), Value::Object(map)) => {
                for (key, value) in map.iter_mut() {
                    if value.is_null() && matches!(item.shape, Shape::Bytes) {
                        // Nothing differs from bytes that are none until it is written.
                        self.conformed.empties = true;
                        continue;
                    }
                    let place = Place {
                        parent: Some(place),
                        step: Step::Key(key),
                    };
                    let conformed = self.item(value, item, &place, depth);
                    self.noted(conformed, (), &place)?;
                }
                Ok(if map.is_empty() {
                    Fate::IsEmpty
                } else {
                    Fate::Keep
                })
            }
            (Shape::SchemaOrList | Shape::SchemaOrBool | Shape::SchemaOrNames, _) => {
                self.schema(value, slot, place, depth)
            }
            _ => self.scalar(value, slot, place),
        }
    }

    /// Conforms an item of a list or a map, which is there even if it is null.
    pub(super) fn item(
        &mut self,
        value: &mut Value,
        slot: &'static Slot,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<(), Stop> {
        if value.is_null() && !reads_null(&slot.shape) {
            *value = match slot.shape {
                Shape::Bytes => Value::String(String::new()),
                _ => zero(slot),
            };
            return Ok(());
        }
        self.value(value, slot, place, depth)?;
        Ok(())
    }

    pub(super) fn unknown_field(&mut self, parent: Option<&Place<'_>>, key: &str) {
        let unknown = &mut self.conformed.unknown;
        if !self.reporting || (self.reader == Reader::Decoder && unknown.len() >= MAX_UNKNOWN) {
            return;
        }
        let mut path = String::new();
        if let Some(parent) = parent {
            parent.write_for(self.reader, &mut path);
            path.push('.');
        }
        path.push_str(key);
        unknown.push(path);
    }

    /// Keeps the first value of a wrong type.
    pub(super) fn wrong(&mut self, what: &str, slot: &Slot, place: &Place<'_>) {
        self.wrong_at(place, || place.cannot_unmarshal(what, &slot.go_type()));
    }

    pub(super) fn wrong_at(&mut self, place: &Place<'_>, why: impl FnOnce() -> String) {
        if let Some(faults) = &mut self.faults {
            faults.push(Fault::at(place, why(), false));
        } else if self.wrong.is_none() {
            self.wrong = Some(why());
        }
    }

    /// Goes on behind an error that ends the decoder, where all errors are asked for.
    pub(super) fn noted<T>(
        &mut self,
        conformed: Result<T, Stop>,
        otherwise: T,
        place: &Place<'_>,
    ) -> Result<T, Stop> {
        match (conformed, &mut self.faults) {
            (Err(Stop(why)), Some(faults)) => {
                faults.push(Fault::at(place, why, true));
                Ok(otherwise)
            }
            (conformed, _) => conformed,
        }
    }
}

impl Fault {
    pub(super) fn at(place: &Place<'_>, why: String, ends: bool) -> Self {
        let mut path = String::new();
        place.write(&mut path);
        let mut turns = Vec::new();
        place.write_turns(&mut turns);
        Self {
            path,
            turns,
            why,
            ends,
        }
    }
}

impl Place<'_> {
    /// The path as the strict decoder shows it: with indices and keys.
    pub(super) fn write(&self, out: &mut String) {
        self.write_for(Reader::Decoder, out);
    }

    fn write_for(&self, reader: Reader, out: &mut String) {
        if let Some(parent) = self.parent {
            parent.write_for(reader, out);
        }
        match self.step {
            Step::Index(index) => {
                let _ = write!(out, "[{index}]");
            }
            Step::Field(_, field) => join(out, field.name),
            Step::Key(key) if reader == Reader::Decoder => join(out, key),
            Step::Key(_) => {}
        }
    }

    /// Whether the defaults or the validation of its type tell the zero time from none.
    pub(super) fn tells_zero_times(&self) -> bool {
        match self.short_type() {
            "DeviceTaint" | "Event" | "EventSeries" | "JobStatus" | "PersistentVolumeStatus" => {
                true
            }
            // Only templates of claims say what their metadata cannot have.
            "ObjectMeta" => matches!(
                self.short_type_above(),
                "PersistentVolumeClaimTemplate" | "ResourceClaimTemplateSpec"
            ),
            _ => false,
        }
    }

    /// Whether the kind it belongs to counts it as a change that a time is finer than it is stored: a template is compared as it
    /// is in memory.
    pub(super) fn tells_fractions(&self) -> bool {
        self.short_type() == "ObjectMeta"
            && matches!(
                self.short_type_above(),
                "JobTemplateSpec" | "PodTemplateSpec"
            )
    }

    /// The type that has the field, without its package; nothing in a list or map.
    fn short_type(&self) -> &'static str {
        match self.step {
            Step::Field(ty, _) => ty.short_name(),
            Step::Key(_) | Step::Index(_) => "",
        }
    }

    fn short_type_above(&self) -> &'static str {
        self.parent.map_or("", Self::short_type)
    }

    pub(super) fn write_turns(&self, out: &mut Vec<usize>) {
        if let Some(parent) = self.parent {
            parent.write_turns(out);
        }
        out.push(match self.step {
            Step::Index(index) => index,
            Step::Field(ty, field) => ty.turn_of(field),
            // Maps have no order.
            Step::Key(_) => 0,
        });
    }

    /// The error for a value of a wrong type. Its path knows fields only.
    pub(super) fn cannot_unmarshal(&self, what: &str, ty: &str) -> String {
        let mut owner = None;
        let mut path = String::new();
        self.write_fields(&mut path, &mut owner);
        let owner = owner.map_or("", Type::short_name);
        format!("json: cannot unmarshal {what} into Go struct field {owner}.{path} of type {ty}")
    }

    pub(super) fn write_fields(&self, out: &mut String, owner: &mut Option<&'static Type>) {
        if let Some(parent) = self.parent {
            parent.write_fields(out, owner);
        }
        if let Step::Field(ty, field) = self.step {
            if !field.inlined_in.is_empty() {
                join(out, field.inlined_in);
            } else if self.is_type_inside(ty, field) {
                join(out, "TypeMeta");
            }
            join(out, field.name);
            // Of what is wrong inside of a type that decodes itself, Go names the struct around it.
            if !self.is_in_own_decoder() {
                *owner = Some(ty);
            }
        }
    }

    /// Whether the field says the type of an object inside of another one, which Go inlines.
    fn is_type_inside(&self, ty: &Type, field: &Field) -> bool {
        self.parent.is_some() && ty.kind.is_some() && matches!(field.name, "apiVersion" | "kind")
    }

    fn is_in_own_decoder(&self) -> bool {
        self.parent.is_some_and(|parent| {
            let decodes_itself = match parent.step {
                Step::Field(_, field) => is_schema_or_other(&field.slot.shape),
                Step::Key(_) | Step::Index(_) => false,
            };
            decodes_itself || parent.is_in_own_decoder()
        })
    }
}

fn is_schema_or_other(shape: &Shape) -> bool {
    match shape {
        Shape::SchemaOrList | Shape::SchemaOrBool | Shape::SchemaOrNames => true,
        Shape::Map(_, item) => is_schema_or_other(&item.shape),
        _ => false,
    }
}

pub(super) fn join(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

/// Adds the fields that are written even when nothing is in them.
pub(super) fn complete(object: &mut Map<String, Value>, ty: &'static Type) {
    for &at in &ty.always {
        let field = &ty.fields[at];
        if !object.contains_key(field.name) {
            object.insert(field.name.to_owned(), nothing(field));
        }
    }
}

/// What Go calls a JSON value in errors.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    }
}

/// Whether Go hands a null to the type's own decoder and what comes of it is not simply nothing.
pub(super) fn reads_null(shape: &Shape) -> bool {
    matches!(shape, Shape::SchemaOrBool)
}

/// Whether the type is a struct in Go, which `omitempty` never leaves out.
pub(super) fn zero_is_written(shape: &Shape) -> bool {
    !matches!(
        shape,
        Shape::String
            | Shape::Bool
            | Shape::Int32
            | Shape::Int64
            | Shape::Float64
            | Shape::Bytes
            | Shape::List(_)
            | Shape::Map(..)
    )
}

/// What Go writes for a field that has nothing in it.
pub(super) fn nothing(field: &Field) -> Value {
    if field.pointer {
        Value::Null
    } else {
        zero(&field.slot)
    }
}

/// What Go writes for the zero value of a type.
pub(super) fn zero(slot: &Slot) -> Value {
    match &slot.shape {
        Shape::String => Value::String(String::new()),
        Shape::Bool | Shape::SchemaOrBool => Value::Bool(false),
        Shape::Int32 | Shape::Int64 | Shape::Float64 | Shape::IntOrString => Value::from(0),
        Shape::Quantity => Value::from("0"),
        Shape::Object(reference) => {
            let ty = reference.get().inner();
            let fields = ty.always.iter().map(|&at| &ty.fields[at]);
            let object = fields.map(|field| (field.name.to_owned(), nothing(field)));
            Value::Object(object.collect())
        }
        Shape::Bytes
        | Shape::Time
        | Shape::MicroTime
        | Shape::Raw
        | Shape::Fields
        | Shape::Json
        | Shape::List(_)
        | Shape::Map(..)
        | Shape::SchemaOrList
        | Shape::SchemaOrNames => Value::Null,
    }
}
