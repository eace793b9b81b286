//! Conforms only what has changed of an object that conformed before.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::walk::{Conformed, Place, Reader, Step, Stop, Walk, complete, describe};
use crate::meta::GroupVersionKind;
use crate::types::{self, Field, Shape, Type, TypeRef};

/// The parts of an object that may have changed, such as by a JSON patch.
#[derive(Debug)]
#[non_exhaustive]
pub enum Changes {
    /// All of it, for all that is known.
    Whole,
    /// Only these members.
    Within(BTreeMap<String, Self>),
}

impl Default for Changes {
    fn default() -> Self {
        Self::Within(BTreeMap::new())
    }
}

impl Changes {
    /// Returns whether the value at this path may have changed.
    pub fn reach(&self, path: &[&str]) -> bool {
        match (self, path.split_first()) {
            (Self::Within(members), Some((first, rest))) => members
                .get(*first)
                .is_some_and(|changes| changes.reach(rest)),
            (Self::Within(members), None) => !members.is_empty(),
            (Self::Whole, _) => true,
        }
    }

    /// Adds a change at the end of this path.
    pub fn add(&mut self, path: impl IntoIterator<Item = String>) {
        let mut here = self;
        for name in path {
            let Self::Within(members) = here else {
                return;
            };
            here = members.entry(name).or_default();
        }
        *here = Self::Whole;
    }
}

/// Conforms the changed parts of an object as [`super::conform`] conforms a whole one.
///
/// # Errors
///
/// The text of Go's decoder, as for a whole object.
pub fn conform_changes(
    kind: &GroupVersionKind,
    value: &mut Value,
    changes: &Changes,
) -> Result<Conformed, String> {
    match types::root(kind) {
        Some(root) => conform_to(root, value, changes, Reader::Decoder),
        None => Ok(Conformed::default()),
    }
}

/// Conforms an object as Go's converter from unstructured objects does, which a strategic merge patch goes through.
///
/// The unknown fields are all that there are, and their paths have no keys of the maps around them.
///
/// # Errors
///
/// As of [`conform`](super::conform).
pub fn conform_unstructured(
    kind: &GroupVersionKind,
    value: &mut Value,
) -> Result<Conformed, String> {
    match types::root(kind) {
        Some(root) => conform_to(root, value, &Changes::Whole, Reader::Converter),
        None => Ok(Conformed::default()),
    }
}

/// Conforms a value that is a part of an object, such as its metadata, by the name of its type. A type that is not in the
/// table is left as it is.
///
/// # Errors
///
/// The text of Go's decoder for a value of this type alone.
pub fn conform_type(name: &str, value: &mut Value) -> Result<Conformed, String> {
    match types::by_name(name) {
        Some(of) => conform_to(of, value, &Changes::Whole, Reader::Decoder),
        None => Ok(Conformed::default()),
    }
}

fn conform_to(
    of: TypeRef,
    value: &mut Value,
    changes: &Changes,
    reader: Reader,
) -> Result<Conformed, String> {
    let ty = of.inner();
    let Value::Object(object) = value else {
        let what = describe(value);
        let ty = ty.go_type();
        return Err(format!(
            "json: cannot unmarshal {what} into Go value of type {ty}"
        ));
    };
    let mut walk = Walk::new();
    walk.reader = reader;
    let walked = match changes {
        Changes::Whole => walk.fields(object, ty, None, 0),
        Changes::Within(members) => walk.changed_fields(object, ty, members, None, 0),
    };
    walked.map_err(|Stop(text)| text)?;
    match walk.wrong {
        Some(text) => Err(text),
        None => Ok(walk.conformed),
    }
}

impl Walk {
    fn changed_fields(
        &mut self,
        object: &mut Map<String, Value>,
        ty: &'static Type,
        changes: &BTreeMap<String, Changes>,
        parent: Option<&Place<'_>>,
        depth: usize,
    ) -> Result<(), Stop> {
        for (key, changes) in changes {
            let Some(value) = object.get_mut(key) else {
                continue;
            };
            let stays = if let Some(field) = ty.field(key) {
                let place = Place {
                    parent,
                    step: Step::Field(ty, field),
                };
                self.changed_field(value, field, changes, &place, depth)?
            } else {
                self.unknown_field(parent, key);
                false
            };
            if !stays {
                object.remove(key);
            }
        }
        complete(object, ty);
        Ok(())
    }

    /// Conforms what has changed in a field; lists and maps as a whole, since indices move.
    fn changed_field(
        &mut self,
        value: &mut Value,
        field: &'static Field,
        changes: &Changes,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<bool, Stop> {
        if let Changes::Within(members) = changes
            && let (Shape::Object(reference), Value::Object(object)) =
                (&field.slot.shape, &mut *value)
        {
            let ty = reference.get().inner();
            self.changed_fields(object, ty, members, Some(place), depth + 1)?;
            return Ok(true);
        }
        self.field(value, field, place, depth)
    }
}
