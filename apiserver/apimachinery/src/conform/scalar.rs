//! Conforms what is neither object, list nor map.

use serde_json::{Number, Value};

use super::numbers::written;
use super::walk::{Fate, Place, Reader, Stop, Walk, describe};
use super::{quantity, settle_numbers, time};
use crate::go_base64;
use crate::types::{Shape, Slot};

/// Below this a float holds every whole number.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Walk {
    pub(super) fn scalar(
        &mut self,
        value: &mut Value,
        slot: &'static Slot,
        place: &Place<'_>,
    ) -> Result<Fate, Stop> {
        let empty = |is_empty| if is_empty { Fate::IsEmpty } else { Fate::Keep };
        Ok(match (&slot.shape, &mut *value) {
            (Shape::String, Value::String(text)) => empty(text.is_empty()),
            (Shape::Bool, Value::Bool(yes)) => empty(!*yes),
            (Shape::Int32 | Shape::Int64, Value::Number(number)) => {
                let fits = number.as_i64().filter(|number| {
                    matches!(slot.shape, Shape::Int64) || i32::try_from(*number).is_ok()
                });
                if fits.is_none() {
                    let what = format!("number {number}");
                    self.wrong(&what, slot, place);
                }
                empty(fits == Some(0))
            }
            (Shape::Float64, Value::Number(number)) => {
                let float = number.as_f64();
                // A whole number that a float does not hold becomes the nearest that it holds.
                if let Some(float) = float.filter(|float| float.abs() >= EXACT) {
                    *number = Number::from_f64(float).unwrap_or_else(|| number.clone());
                }
                empty(float == Some(0.0))
            }
            (Shape::Bytes, Value::String(text)) => {
                match go_base64::canonical(text) {
                    Ok(None) => {}
                    Ok(Some(again)) => *text = again,
                    Err(at) => {
                        self.wrong_at(place, || go_base64::illegal(at));
                    }
                }
                empty(text.is_empty())
            }
            (Shape::Bytes, Value::Array(list)) => {
                let bytes = self.bytes(list, place);
                let is_empty = bytes.is_empty();
                *value = Value::String(go_base64::encode(&bytes));
                empty(is_empty)
            }
            (Shape::Quantity, _) => return quantity_of(value),
            (Shape::Time, _) => return time_of(value, time::Precision::Seconds, place),
            (Shape::MicroTime, _) => return time_of(value, time::Precision::Micros, place),
            (Shape::IntOrString, _) => self.int_or_string(value, place)?,
            (Shape::Json, _) => {
                settle_numbers(value);
                empty(value.is_null())
            }
            (Shape::Raw | Shape::Fields, _) => empty(value.is_null()),
            _ => {
                self.wrong(&describe(value), slot, place);
                Fate::Keep
            }
        })
    }

    /// Go's `IntOrString` is text if the JSON begins with a quote, and else whatever an `int32` can be read from.
    fn int_or_string(&self, value: &Value, place: &Place<'_>) -> Result<Fate, Stop> {
        let what = match value {
            Value::String(_) => return Ok(Fate::Keep),
            Value::Number(number) => match (number.as_i64().map(i32::try_from), self.reader) {
                (Some(Ok(_)), _) => return Ok(Fate::Keep),
                (_, Reader::Decoder) => format!("number {number}"),
                // It reads the number that Go writes.
                (_, Reader::Converter) => format!("number {}", written(value)),
            },
            other => describe(other),
        };
        Err(Stop(place.cannot_unmarshal(&what, "int32")))
    }

    /// Go reads bytes from a list of numbers too.
    fn bytes(&mut self, list: &[Value], place: &Place<'_>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(list.len());
        for item in list {
            let byte = item.as_u64().and_then(|number| u8::try_from(number).ok());
            if byte.is_none() && !item.is_null() {
                let what = match item {
                    Value::Number(number) => format!("number {number}"),
                    other => describe(other),
                };
                self.wrong_at(place, || place.cannot_unmarshal(&what, "uint8"));
            }
            bytes.push(byte.unwrap_or_default());
        }
        bytes
    }
}

fn quantity_of(value: &mut Value) -> Result<Fate, Stop> {
    let canonical = match &*value {
        Value::String(text) => quantity::canonical(text),
        // Go reads the raw JSON, whatever it is.
        other => {
            let text = other.to_string();
            quantity::canonical(&text).map(|canonical| canonical.or(Some(text)))
        }
    };
    match canonical {
        Ok(Some(text)) => *value = Value::String(text),
        Ok(None) => {}
        Err(error) => return Err(Stop(error.to_owned())),
    }
    Ok(Fate::Keep)
}

fn time_of(value: &mut Value, precision: time::Precision, place: &Place<'_>) -> Result<Fate, Stop> {
    let Value::String(text) = value else {
        return Err(Stop(place.cannot_unmarshal(&describe(value), "string")));
    };
    match time::canonical(text, precision) {
        Err(error) => Err(Stop(error)),
        Ok(time::Canonical::Already) => Ok(Fate::Keep),
        Ok(time::Canonical::Text(canonical)) => {
            *text = if place.tells_fractions() {
                time::with_fraction(&canonical, text)
            } else {
                canonical
            };
            Ok(Fate::Keep)
        }
        // The zero time that is read has a time zone, by which the validation of events tells it from none, and a pointer to it
        // is not the nil that jobs and volumes look for.
        Ok(time::Canonical::Zero) if place.tells_zero_times() => {
            precision.zero().clone_into(text);
            Ok(Fate::IsEmpty)
        }
        // Go's zero time is written as null wherever it stands.
        Ok(time::Canonical::Zero) => {
            *value = Value::Null;
            Ok(Fate::IsEmpty)
        }
    }
}
