//! Error messages of the real server's converter from unstructured objects to Go types, for fields of the wrong type.

use serde_json::{Number, Value};

use crate::types::{self, Shape};

/// Returns the converter's error message for a fault of `object`, which names its kind, for which the JSON decoder's message is `why`.
pub fn converter_words(why: &str, object: &Value) -> String {
    if why.starts_with("illegal base64 data") {
        return format!("error decoding from json: {why}");
    }
    let parts = why
        .strip_prefix("json: cannot unmarshal ")
        .and_then(|rest| rest.split_once(" into Go "))
        .and_then(|(found, rest)| {
            let (place, wanted) = rest.rsplit_once(" of type ")?;
            Some((found, place, wanted))
        });
    let Some((found, place, wanted)) = parts else {
        return why.to_owned();
    };
    let names: Vec<&str> = place
        .split('.')
        .skip(1)
        .filter(|name| !is_inlined(name))
        .collect();
    let declared = shape_at(object, &names);
    let shape = types::shape_called(wanted);
    let is_map = wanted.starts_with("map[") || matches!(shape, Some(Shape::Map(..)));
    let is_list = wanted.starts_with("[]") || matches!(shape, Some(Shape::List(_)));
    // The path ends at the map, and what is wrong is in it.
    let is_in_map = matches!(declared, Some(Shape::Map(..))) && !is_map;
    // These decode themselves.
    let found_there = match declared.map(innermost) {
        _ if is_map || is_list => None,
        Some(Shape::Time | Shape::MicroTime) => found.split(' ').next(),
        Some(Shape::IntOrString) => Some(found),
        _ => None,
    };
    if let Some(found) = found_there {
        return format!("json: cannot unmarshal {found} into Go value of type {wanted}");
    }
    let holder = match shape {
        _ if is_in_map => Holder::Any,
        _ if is_map || is_list => Holder::Itself,
        Some(_) => Holder::Any,
        None if is_scalar(wanted) => Holder::Any,
        None => Holder::List,
    };
    let is_fraction = || Some(number_at(object, &names, holder)?.is_f64());
    let found = match found {
        "object" => "map",
        "array" => "slice",
        "number" if is_fraction() == Some(true) => "float64",
        "number" => "int64",
        number if number.starts_with("number ") && number.contains(['.', 'e', 'E']) => "float64",
        number if number.starts_with("number ") => "int64",
        other => other,
    };
    match shape {
        Some(Shape::String) if found == "int64" => {
            return format!("cannot convert int64 to {wanted}");
        }
        Some(Shape::String) => return "unrecognized type: string".to_owned(),
        _ if is_map => return format!("cannot restore map from {found}"),
        _ if is_list => return format!("cannot restore slice from {found}"),
        _ => {}
    }
    let number = is_number(wanted);
    let scalar = is_scalar(wanted);
    match found {
        "int64" if wanted == "string" => format!("cannot convert {found} to {wanted}"),
        "float64" if number => format!("cannot convert {found} to {wanted}"),
        _ if scalar => format!("unrecognized type: {wanted}"),
        // A map fits every struct, so the wanted type is a named string type.
        "map" => "unrecognized type: string".to_owned(),
        _ => format!("cannot restore struct from: {found}"),
    }
}

/// Whether a name in a Go path is of a struct that is inlined in the one around it, which has no field in JSON.
fn is_inlined(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
}

/// The shape of the field at a path in objects of this kind.
fn shape_at(object: &Value, path: &[&str]) -> Option<&'static Shape> {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let mut names = path.iter();
    let mut ty = types::named(text("apiVersion"), text("kind"))?;
    let mut shape = &ty.field(names.next()?)?.slot().shape;
    for name in names {
        let Shape::Object(below) = innermost(shape) else {
            return None;
        };
        ty = below.get();
        shape = &ty.field(name)?.slot().shape;
    }
    Some(shape)
}

/// What lists and maps of a shape hold in the end.
fn innermost(mut shape: &'static Shape) -> &'static Shape {
    while let Shape::List(item) | Shape::Map(_, item) = shape {
        shape = &item.shape;
    }
    shape
}

fn is_number(wanted: &str) -> bool {
    matches!(wanted, "int32" | "int64" | "float64")
}

fn is_scalar(wanted: &str) -> bool {
    is_number(wanted) || matches!(wanted, "bool" | "string")
}

/// What may hold a number that stands for something else.
#[derive(Clone, Copy)]
enum Holder {
    /// The field alone: the number stands for a list or a map.
    Itself,
    /// The field, or a list there: the number stands for a struct.
    List,
    /// The field, or a list or a map there: the number stands for another scalar.
    Any,
}

/// The first number at the end of a path of fields, whose lists and maps have no names in it.
fn number_at<'v>(value: &'v Value, names: &[&str], holder: Holder) -> Option<&'v Number> {
    match (value, names, holder) {
        (Value::Number(number), [], _) => Some(number),
        (_, [], Holder::Itself) | (Value::Object(_), [], Holder::List) => None,
        (Value::Object(fields), [name, rest @ ..], _) if fields.contains_key(*name) => {
            number_at(&fields[*name], rest, holder)
        }
        (Value::Object(fields), ..) => {
            let mut below = fields.values();
            below.find_map(|below| number_at(below, names, holder))
        }
        (Value::Array(items), ..) => {
            let mut below = items.iter();
            below.find_map(|below| number_at(below, names, holder))
        }
        _ => None,
    }
}
