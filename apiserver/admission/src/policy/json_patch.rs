//! The values that JSON patches make, `JSONPatch`, as the document of a patch.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::view::View as _;
use kubewright_cel::{List, Map as CelMap, Record, Value as Cel};
use serde_json::{Value, json};

use super::literal::{check_type_names, number, to_json};

/// What expressions see of a request that the real server keeps in structs of Go, which its patches cannot be made of.
pub(super) struct Structs<'a> {
    pub(super) request: &'a Value,
    pub(super) namespace: &'a Value,
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
            if structs.is_native(list) {
                return Err(
                    "type conversion error from 'list(dyn)' to '*structpb.Value'".to_owned(),
                );
            }
            let items = list.iter().map(|item| converted(&item, structs));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Cel::Map(map) => {
            if let Some(name) = structs.name(map) {
                return Err(format!(
                    "type conversion error from struct type {name} to *structpb.Value"
                ));
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
    /// The type of the struct that a map stands for.
    fn name(&self, map: &CelMap<'_>) -> Option<&'static str> {
        let (CelMap::Json(members) | CelMap::Declared(members, _)) = map else {
            return None;
        };
        let (request, namespace) = (self.request, self.namespace);
        [
            (request, "v1.AdmissionRequest"),
            (request.at("kind"), "v1.GroupVersionKind"),
            (request.at("requestKind"), "v1.GroupVersionKind"),
            (request.at("resource"), "v1.GroupVersionResource"),
            (request.at("requestResource"), "v1.GroupVersionResource"),
            (request.at("userInfo"), "v1.UserInfo"),
            (namespace, "v1.Namespace"),
            (namespace.at("metadata"), "v1.ObjectMeta"),
            (namespace.at("spec"), "v1.NamespaceSpec"),
            (namespace.at("status"), "v1.NamespaceStatus"),
        ]
        .into_iter()
        .find_map(|(of, name)| std::ptr::eq(of.as_object()?, *members).then_some(name))
    }

    /// Whether a list is one of Go's own.
    fn is_native(&self, list: &List<'_>) -> bool {
        let (List::Json(items) | List::Declared(items, _)) = list else {
            return false;
        };
        let groups = self.request.at("userInfo").list("groups");
        !groups.is_empty() && std::ptr::eq(groups, *items)
    }
}
