//! The values that JSON patches make, `JSONPatch`, as the document of a patch.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::types::{self, Shape, TypeRef};
use kubewright_apimachinery::view::View as _;
use kubewright_cel::{Map as CelMap, Record, Value as Cel};
use serde_json::{Map, Value, json};

use super::literal::{check_type_names, number, to_json};

/// What expressions see of a request that the real server keeps in structs of Go, which its patches cannot be made of.
pub(super) struct Structs<'a> {
    pub(super) request: &'a Value,
    pub(super) namespace: &'a Value,
    /// The objects of the request, with their kind.
    pub(super) objects: [(&'a GroupVersionKind, &'a Value); 2],
}

/// A list of `JSONPatch` as the document of a JSON patch.
///
/// # Errors
/// A value that is no JSON, or with parts of the wrong type.
pub(super) fn operations(value: &Cel<'_>, structs: &Structs<'_>) -> Result<Value, String> {
    let Cel::List(list) = value else {
        return Err("type mismatch: JSONPatchType.expression should evaluate to array".to_owned());
    };
    let mut operations = Vec::with_capacity(list.len());
    for item in list.iter() {
        let Cel::Record(operation) = &item else {
            let of = item.type_name();
            return Err(format!(
                "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch, got element of {of}"
            ));
        };
        operations.push(operation_of(operation, structs)?);
    }
    Ok(Value::Array(operations))
}

fn operation_of(operation: &Record<'_>, structs: &Structs<'_>) -> Result<Value, String> {
    let mut members = json!({"op": "", "path": ""});
    for (name, value) in operation.fields() {
        let value = match name {
            "value" => {
                check_type_names(value)?;
                converted(value, structs).map_err(|why| {
                    format!(
                        "JSONPath valueExpression evaluated to a type that could not marshal to JSON: {why}"
                    )
                })?
            }
            // An empty `from` is none.
            "from" if value.as_str() == Some("") => continue,
            _ => Value::from(value.as_str().unwrap_or_default()),
        };
        members[name] = value;
    }
    Ok(members)
}

/// A value of an operation as JSON.
///
/// # Errors
/// The real server knows no conversion.
fn converted(value: &Cel<'_>, structs: &Structs<'_>) -> Result<Value, String> {
    // Programs that know no other numbers than floats read whole numbers up to here.
    const EXACT: u64 = (1 << 53) - 1;
    Ok(match value {
        Cel::Int(value) if value.unsigned_abs() > EXACT => value.to_string().into(),
        Cel::Uint(value) if *value > EXACT => value.to_string().into(),
        Cel::Double(value) if !value.is_finite() => {
            let shown = match *value {
                f64::INFINITY => "+Inf",
                f64::NEG_INFINITY => "-Inf",
                _ => "NaN",
            };
            return Err(format!(
                "json: error calling MarshalJSON for type *structpb.Value: proto: google.protobuf.Value.number_value: \
                 invalid {shown} value"
            ));
        }
        Cel::Double(value) => number(*value),
        Cel::Bytes(bytes) => STANDARD.encode(bytes).into(),
        Cel::List(list) => {
            if list.is_native() {
                return Err(
                    "type conversion error from 'list(dyn)' to '*structpb.Value'".to_owned(),
                );
            }
            let items = list.iter().map(|item| converted(&item, structs));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Cel::Map(map) => {
            if map.is_native() {
                return Err(match structs.name(map) {
                    Some(name) => {
                        format!("type conversion error from struct type {name} to *structpb.Value")
                    }
                    None => {
                        "type conversion error from 'map(dyn, dyn)' to '*structpb.Value'".to_owned()
                    }
                });
            }
            let members = map.entries().into_iter().map(|(key, value)| {
                let Some(name) = key.as_str() else {
                    return Err(match key {
                        Cel::Bool(_) => "type conversion error from bool to 'string'".to_owned(),
                        _ => format!(
                            "unsupported type conversion from '{}' to string",
                            key.type_name()
                        ),
                    });
                };
                Ok((name.to_owned(), converted(&value, structs)?))
            });
            Value::Object(members.collect::<Result<_, _>>()?)
        }
        Cel::Optional(None) => return Err("optional.none() dereference".to_owned()),
        Cel::Optional(Some(value)) => converted(value, structs)?,
        Cel::Type(_) => return Err("type conversion not supported for 'type'".to_owned()),
        Cel::Object(_) => {
            let name = word(value.type_name());
            return Err(format!(
                "type conversion error from '{name}' to '*structpb.Value'"
            ));
        }
        other => to_json(other)?,
    })
}

/// The word of the real server for one of its own types.
fn word(name: &str) -> &str {
    match name {
        "kubernetes.NamedFormat" => "Format",
        name if name.starts_with("kubernetes.authorization.") => name,
        name => name.rsplit('.').next().unwrap_or(name),
    }
}

impl Structs<'_> {
    /// The type of the struct that a map stands for; none if it is a map.
    fn name(&self, map: &CelMap<'_>) -> Option<String> {
        let CelMap::Declared(members, _) = map else {
            return None;
        };
        let request = self.request;
        let known = [
            (request, "v1.AdmissionRequest"),
            (request.at("kind"), "v1.GroupVersionKind"),
            (request.at("requestKind"), "v1.GroupVersionKind"),
            (request.at("resource"), "v1.GroupVersionResource"),
            (request.at("requestResource"), "v1.GroupVersionResource"),
            (request.at("userInfo"), "v1.UserInfo"),
        ];
        let known = known
            .into_iter()
            .find(|(of, _)| of.as_object().is_some_and(|of| std::ptr::eq(of, *members)));
        if let Some((_, name)) = known {
            return Some(name.to_owned());
        }
        let namespace = types::named("v1", "Namespace").map(|of| (of, self.namespace));
        let objects = self.objects.iter();
        let objects = objects.filter_map(|(kind, object)| Some((types::root(kind)?, *object)));
        objects
            .chain(namespace)
            .find_map(|(of, object)| struct_at(of, object, members))
    }
}

/// The Go name of the struct in an object of this type that these are the members of.
fn struct_at(of: TypeRef, object: &Value, members: &Map<String, Value>) -> Option<String> {
    let all = object.as_object()?;
    if std::ptr::eq(all, members) {
        let mut parts = of.name().rsplit('.');
        let (name, package) = (parts.next()?, parts.next()?);
        return Some(format!("{package}.{name}"));
    }
    all.iter().find_map(|(name, value)| {
        let slot = of.field(name)?.slot();
        let below = slot.object()?;
        match (&slot.shape, value) {
            (Shape::Map(..), Value::Object(map)) => map
                .values()
                .find_map(|value| struct_at(below, value, members)),
            (_, Value::Array(items)) => items
                .iter()
                .find_map(|item| struct_at(below, item, members)),
            _ => struct_at(below, value, members),
        }
    })
}
