//! Holds an object to the types of its kind, as Go's decoder and encoder do between them.
//!
//! ```
//! use kubewright_apimachinery::conform::conform;
//! use kubewright_apimachinery::meta::GroupVersionKind;
//! use serde_json::json;
//!
//! let deployments = GroupVersionKind::from_api_version_and_kind("apps/v1", "Deployment");
//! let mut object = json!({"spec": {"replicas": 2, "paused": null, "replica": 3}});
//! assert_eq!(conform(&deployments, &mut object)?.unknown, ["spec.replica"]);
//! assert_eq!(object["spec"]["replicas"], 2);
//! assert!(object["spec"].get("paused").is_none());
//!
//! assert_eq!(
//!     conform(&deployments, &mut json!({"spec": {"replicas": "2"}})),
//!     Err("json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32".to_owned())
//! );
//! # Ok::<(), String>(())
//! ```
//!
//! One walk does what the real server's decoding into a struct and encoding of that struct do: fields that the struct does not
//! have go, nulls and what `omitempty` leaves out go, fields without `omitempty` come, and quantities and times get their
//! canonical form. Errors have the texts of `sigs.k8s.io/json`.

mod base64;
mod changes;
mod empties;
mod integers;
mod quantity;
mod scalar;
mod schema;
mod time;

use std::cmp::Ordering;
use std::fmt::Write as _;

pub use changes::{Changes, conform_changes, conform_type};
pub use empties::{Medium, write_empties};
pub use integers::cut_integers;

use serde_json::{Map, Value};

use crate::meta::GroupVersionKind;
use crate::types::{self, Empty, Field, Shape, Slot, Type};

/// How deep an object may be nested; Go's decoder has the same limit, but no kind comes near it.
const MAX_DEPTH: usize = 500;

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
    /// Whether the object has lists or maps that are empty. Go tells them from none as long as it has them in memory.
    pub empties: bool,
}

/// Makes an object what the real server has of it in memory, written as JSON.
///
/// A kind that is not in the table is left as it is.
///
/// # Errors
///
/// The text of Go's decoder, when something in the object has the wrong type or form:
/// `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`. The object is then in no
/// particular state.
pub fn conform(kind: &GroupVersionKind, value: &mut Value) -> Result<Conformed, String> {
    conform_changes(kind, value, &Changes::Whole)
}

/// What Go says of an object that does not fit its kind, when its text names the fields in the order of `paths`: the first
/// value that ends the decoder, or else the first one of a wrong type.
pub fn first_fault(kind: &GroupVersionKind, value: &mut Value, paths: &[String]) -> Option<String> {
    let (root, Value::Object(object)) = (types::root(kind)?.inner(), value) else {
        return None;
    };
    let mut walk = Walk::new();
    walk.faults = Some(Vec::new());
    // What ends the walk is among the faults.
    drop(walk.fields(object, root, None, 0));
    let place = |fault: &Fault| {
        // Items of a list have no place of their own.
        let mut wanted = fault.path.as_str();
        while let Some(at) = wanted.rfind('[').filter(|_| wanted.ends_with(']')) {
            wanted = &wanted[..at];
        }
        let found = paths.iter().position(|path| path == wanted);
        found.unwrap_or(usize::MAX)
    };
    let faults = walk.faults.unwrap_or_default().into_iter();
    let first = faults.min_by_key(|fault| (!fault.ends, place(fault)))?;
    Some(first.why)
}

/// What is wrong first with an object for those who go through it in the order of Go's structs.
pub fn first_fault_in_turn(kind: &GroupVersionKind, value: &mut Value) -> Option<String> {
    let (root, Value::Object(object)) = (types::root(kind)?.inner(), value) else {
        return None;
    };
    let mut walk = Walk::new();
    walk.faults = Some(Vec::new());
    // What ends the walk is among the faults.
    drop(walk.fields(object, root, None, 0));
    let faults = walk.faults.unwrap_or_default().into_iter();
    Some(faults.min_by(|a, b| a.turns.cmp(&b.turns))?.why)
}

struct Walk {
    conformed: Conformed,
    /// False inside values that Go decodes apart, where it no longer looks for unknown fields.
    reporting: bool,
    /// The first value of a wrong type; Go reads on behind it.
    wrong: Option<String>,
    /// Everything that is wrong, and where, to find out what comes first in a text.
    faults: Option<Vec<Fault>>,
}

/// Something that is wrong with an object.
struct Fault {
    path: String,
    /// The same in the order of Go's structs: which field or item it is, from the object down.
    turns: Vec<usize>,
    why: String,
    /// Whether Go's decoder ends there.
    ends: bool,
}

/// An error that ends Go's decoder at once: what a type's own `UnmarshalJSON` returns.
struct Stop(String);

/// Where the walk is: a chain through the stack, so that a correct object costs no allocation.
#[derive(Clone, Copy)]
struct Place<'a> {
    parent: Option<&'a Self>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    /// A field, and the type that has it.
    Field(&'static Type, &'static Field),
    Key(&'a str),
    Index(usize),
}

/// What becomes of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Keep,
    /// There is nothing in it: what Go's zero value is.
    IsEmpty,
}

impl Walk {
    fn new() -> Self {
        Self {
            conformed: Conformed::default(),
            reporting: true,
            wrong: None,
            faults: None,
        }
    }

    /// Conforms the fields of an object. Keys and fields are both sorted, so one pass over both finds every field.
    fn fields(
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
    fn field(
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
        if fate == Fate::Keep || (field.pointer && !was_null) {
            return Ok(true);
        }
        if !was_null
            && matches!(
                field.slot.shape,
                Shape::Bytes | Shape::List(_) | Shape::Map(..)
            )
        {
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

    fn value(
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
    fn item(
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

    fn unknown_field(&mut self, parent: Option<&Place<'_>>, key: &str) {
        let unknown = &mut self.conformed.unknown;
        if !self.reporting || unknown.len() >= MAX_UNKNOWN {
            return;
        }
        let mut path = String::new();
        if let Some(parent) = parent {
            parent.write(&mut path);
            path.push('.');
        }
        path.push_str(key);
        unknown.push(path);
    }

    /// Keeps the first value of a wrong type.
    fn wrong(&mut self, what: &str, slot: &Slot, place: &Place<'_>) {
        self.wrong_at(place, || place.cannot_unmarshal(what, &slot.go_type()));
    }

    fn wrong_at(&mut self, place: &Place<'_>, why: impl FnOnce() -> String) {
        if let Some(faults) = &mut self.faults {
            faults.push(Fault::at(place, why(), false));
        } else if self.wrong.is_none() {
            self.wrong = Some(why());
        }
    }

    /// Goes on behind an error that ends the decoder, where all errors are asked for.
    fn noted<T>(
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
    fn at(place: &Place<'_>, why: String, ends: bool) -> Self {
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
    fn write(&self, out: &mut String) {
        if let Some(parent) = self.parent {
            parent.write(out);
        }
        match self.step {
            Step::Index(index) => {
                let _ = write!(out, "[{index}]");
            }
            Step::Field(_, field) => join(out, field.name),
            Step::Key(key) => join(out, key),
        }
    }

    fn write_turns(&self, out: &mut Vec<usize>) {
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
    fn cannot_unmarshal(&self, what: &str, ty: &str) -> String {
        let mut owner = None;
        let mut path = String::new();
        self.write_fields(&mut path, &mut owner);
        let owner = owner.map_or("", Type::short_name);
        format!("json: cannot unmarshal {what} into Go struct field {owner}.{path} of type {ty}")
    }

    fn write_fields(&self, out: &mut String, owner: &mut Option<&'static Type>) {
        if let Some(parent) = self.parent {
            parent.write_fields(out, owner);
        }
        if let Step::Field(ty, field) = self.step {
            if !field.inlined_in.is_empty() {
                join(out, field.inlined_in);
            }
            join(out, field.name);
            *owner = Some(ty);
        }
    }
}

fn join(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

/// Adds the fields that are written even when nothing is in them.
fn complete(object: &mut Map<String, Value>, ty: &'static Type) {
    for &at in &ty.always {
        let field = &ty.fields[at];
        if !object.contains_key(field.name) {
            object.insert(field.name.to_owned(), nothing(field));
        }
    }
}

/// What Go calls a JSON value in errors.
fn describe(value: &Value) -> String {
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
fn reads_null(shape: &Shape) -> bool {
    matches!(shape, Shape::SchemaOrBool)
}

/// Whether the type is a struct in Go, which `omitempty` never leaves out.
fn zero_is_written(shape: &Shape) -> bool {
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
fn nothing(field: &Field) -> Value {
    if field.pointer {
        Value::Null
    } else {
        zero(&field.slot)
    }
}

/// What Go writes for the zero value of a type.
fn zero(slot: &Slot) -> Value {
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

#[cfg(test)]
pub(crate) mod tests;
