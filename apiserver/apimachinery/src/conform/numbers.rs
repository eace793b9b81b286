//! Numbers on their way into Go's types, where a converter and not a decoder puts them there: fractions of nothing go, what is too
//! large for an integer is cut, and a type that decodes itself reads what Go writes. Where no type asks for an integer, what is
//! too large for one is a float.

use serde_json::{Map, Number, Value};

use crate::json::write;
use crate::meta::GroupVersionKind;
use crate::types;
use crate::types::{Shape, Slot, Type};

/// Converts the numbers of an object as Go's converter from unstructured objects does.
///
/// Whole floats become integers where the kind has integers, wrapped at the size of the field. Quantities, and data of any form,
/// are read from the text that Go writes for a float. Other numbers stay as they are.
pub fn convert_numbers(kind: &GroupVersionKind, object: &mut Value) {
    if let (Some(ty), Value::Object(members)) = (types::root(kind), object) {
        members_of(members, ty.inner());
    }
}

fn members_of(members: &mut Map<String, Value>, ty: &'static Type) {
    let mut from = 0;
    for (name, value) in members {
        if let Some(at) = ty.find_from(&mut from, name) {
            cut(value, &ty.fields[at].slot);
        }
    }
}

fn cut(value: &mut Value, slot: &'static Slot) {
    match (&slot.shape, &mut *value) {
        // What stands for a number or a word is written out and read again, and loses a fraction of none.
        (Shape::IntOrString, Value::Number(number)) => {
            const WRITTEN_WITH_EXPONENT: f64 = 1e21;
            let plain = |number: &f64| number.abs() < WRITTEN_WITH_EXPONENT;
            let written = number.as_f64().filter(plain).and_then(whole);
            if let Some(whole) = written.filter(|whole| *whole != i64::MIN) {
                *value = whole.into();
            }
        }
        // What decodes itself reads the number that Go writes.
        (Shape::Quantity, Value::Number(number)) if number.is_f64() => {
            *value = Value::String(written(value));
        }
        (Shape::Raw | Shape::Json, _) => as_written(value),
        (Shape::Int32 | Shape::Int64, Value::Number(number)) => {
            let Some(whole) = number.as_i64().or_else(|| whole(number.as_f64()?)) else {
                return;
            };
            *value = match slot.shape {
                Shape::Int32 => low(whole).into(),
                _ => whole.into(),
            };
        }
        (Shape::Object(reference), Value::Object(members)) => {
            members_of(members, reference.get().inner());
        }
        (Shape::List(item), Value::Array(items)) => {
            for value in items {
                cut(value, item);
            }
        }
        (Shape::Map(_, item), Value::Object(members)) => {
            for value in members.values_mut() {
                cut(value, item);
            }
        }
        _ => {}
    }
}

/// Replaces what Go holds as a float by what is read from the text that it writes for it: `1.0` by `1`.
fn as_written(value: &mut Value) {
    match value {
        Value::Number(number) if !number.is_i64() => {
            settle_numbers(value);
            if let Ok(read) = serde_json::from_str(&written(value)) {
                *value = read;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(as_written),
        Value::Object(members) => members.values_mut().for_each(as_written),
        _ => {}
    }
}

/// The text that Go writes for a value.
pub(super) fn written(value: &Value) -> String {
    let mut text = Vec::new();
    write(&mut text, value);
    String::from_utf8_lossy(&text).into_owned()
}

/// Go holds a whole number that 64 bits do not hold as a float. What is written with a point or an exponent is one, too, until
/// the object is stored: then it is written as whole if it is.
pub fn settle_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_u64() && !number.is_i64() => {
            if let Some(inexact) = number.as_f64().and_then(Number::from_f64) {
                *number = inexact;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle_numbers),
        Value::Object(members) => members.values_mut().for_each(settle_numbers),
        _ => {}
    }
}

/// A number without a fraction as 64 bits: what does not fit is the smallest one, as processors have it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "values that do not fit are handled before"
)]
fn whole(number: f64) -> Option<i64> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    (number.fract() == 0.0).then(|| {
        if (-BEYOND..BEYOND).contains(&number) {
            number as i64
        } else {
            i64::MIN
        }
    })
}

/// The low half of the bits.
#[expect(clippy::cast_possible_truncation, reason = "that is the point")]
fn low(number: i64) -> i32 {
    number as i32
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn integers_are_cut_as_go_cuts_them() {
        let kind = GroupVersionKind {
            group: "coordination.k8s.io".into(),
            version: "v1".into(),
            kind: "Lease".into(),
        };
        for (sent, kept) in [
            (json!(1000.0), json!(1000)),
            (json!(1000.5), json!(1000.5)),
            (json!(4_294_967_297_i64), json!(1)),
            (json!(i64::MAX), json!(-1)),
            (json!(-2_147_483_649_i64), json!(2_147_483_647)),
            (json!(u64::MAX), json!(0)),
            (json!(1e10), json!(1_410_065_408)),
            (json!(1e30), json!(0)),
            (json!("x"), json!("x")),
        ] {
            let mut lease = json!({"spec": {"leaseDurationSeconds": sent, "unknown": 1.0}});
            convert_numbers(&kind, &mut lease);
            assert_eq!(lease["spec"]["leaseDurationSeconds"], kept, "{sent}");
            assert_eq!(lease["spec"]["unknown"], json!(1.0));
        }
    }
}
