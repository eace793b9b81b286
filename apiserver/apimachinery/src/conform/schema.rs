//! Conforms the three places of a JSON schema that hold a schema or something else.
//!
//! Go decodes them apart, without the strict options, so unknown fields in them vanish silently; their errors know only the
//! path from here on.

use serde_json::Value;

use crate::types::TypeRef;

use super::walk::{Fate, Place, Step, Stop, Walk, describe};
use crate::types::{Shape, Slot};

impl Walk {
    pub(super) fn schema(
        &mut self,
        value: &mut Value,
        slot: &'static Slot,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<Fate, Stop> {
        let reporting = std::mem::replace(&mut self.reporting, false);
        let outer = self.wrong.take();
        let result = self.schema_apart(value, slot, place, depth);
        self.reporting = reporting;
        let wrong = std::mem::replace(&mut self.wrong, outer);
        match wrong {
            Some(text) => Err(Stop(text)),
            None => result,
        }
    }

    fn schema_apart(
        &mut self,
        value: &mut Value,
        slot: &'static Slot,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<Fate, Stop> {
        let schema = slot.object().map(TypeRef::inner);
        match (&slot.shape, &mut *value, schema) {
            (_, Value::Object(object), Some(schema)) => {
                self.fields(object, schema, Some(place), depth + 1)?;
                Ok(Fate::Keep)
            }
            (Shape::SchemaOrList, Value::Array(list), Some(schema)) if !list.is_empty() => {
                for (index, item) in list.iter_mut().enumerate() {
                    let place = Place {
                        parent: Some(place),
                        step: Step::Index(index),
                    };
                    let Value::Object(object) = item else {
                        let what = describe(item);
                        return Err(Stop(place.cannot_unmarshal(&what, &schema.go_type())));
                    };
                    self.fields(object, schema, Some(&place), depth + 1)?;
                }
                Ok(Fate::Keep)
            }
            (Shape::SchemaOrNames, Value::Array(list), _) if !list.is_empty() => {
                match list.iter().find(|item| !item.is_string()) {
                    Some(item) => {
                        let what = describe(item);
                        Err(Stop(place.cannot_unmarshal(&what, "string")))
                    }
                    None => Ok(Fate::Keep),
                }
            }
            (Shape::SchemaOrBool, Value::Bool(_), _) => Ok(Fate::Keep),
            (Shape::SchemaOrBool, Value::Null, _) => Ok(Fate::IsEmpty),
            (Shape::SchemaOrBool, ..) => Err(Stop("boolean or JSON schema expected".to_owned())),
            // Everything else is read as nothing, and nothing is written as null.
            _ => {
                *value = Value::Null;
                Ok(Fate::Keep)
            }
        }
    }
}
