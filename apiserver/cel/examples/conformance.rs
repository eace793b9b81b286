//! Evaluates cases of the language's conformance suite: `cel.expr.conformance.test.SimpleTest` in the JSON of protobuf, one a
//! line, from the standard input, in the environment of the version of Kubernetes that is the first argument. Writes what became of each to the standard output: `{"type": "int", "value": {"int64Value": "3"}}`.
//!
//! `tests/judges/cel` fetches the suite, runs this and compares.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_cel::{Budget, Environment, Key, Map, Place, Text, Type, Value, Variables};
use serde_json::{Value as Json, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let version = std::env::args()
        .nth(1)
        .as_deref()
        .unwrap_or("1.37")
        .parse()?;
    // The place with the fewest variables, and with `cel.bind`, which the suite tests.
    let environment = Environment::stored_expressions(Place::DeviceSelector, version);
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let case: Json = serde_json::from_str(&line?)?;
        let outcome = match run(&case, environment.clone()) {
            Ok(outcome) => outcome,
            Err(reason) => json!({"unsupported": reason}),
        };
        writeln!(output, "{outcome}")?;
    }
    Ok(())
}

/// What the crate does with the expression of a case, or why the case cannot be run.
fn run(case: &Json, mut environment: Environment) -> Result<Json, String> {
    if case["disableMacros"] == true {
        return Err("an environment without macros".to_owned());
    }
    for declared in elements(&case["typeEnv"]) {
        let of = &declared["ident"]["type"];
        if of.is_null() {
            return Err("a function that the case declares".to_owned());
        }
        environment = environment.with_variable(text(&declared["name"]), type_of(of)?);
    }
    let mut variables = Variables::new();
    for (name, bound) in members(&case["bindings"]) {
        variables = variables.with(name, value_of(&bound["value"])?);
    }
    let program = match environment.compile(text(&case["expr"])) {
        Ok(program) => program,
        Err(why) => return Ok(json!({"refused": why.to_string()})),
    };
    let of = program.output_type().to_string();
    let mut budget = Budget::policy();
    let result = program.evaluate(&variables, &mut budget);
    let cost = budget.last_cost();
    Ok(match result {
        Err(why) => json!({"cost": cost, "failed": why.to_string()}),
        Ok(value) => match described(&value) {
            Some(described) => json!({"cost": cost, "type": of, "value": described}),
            None => json!({"cost": cost, "type": of, "opaque": value.type_name()}),
        },
    })
}

fn text(json: &Json) -> &str {
    json.as_str().unwrap_or_default()
}

fn elements(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn members(json: &Json) -> impl Iterator<Item = (&String, &Json)> {
    json.as_object().into_iter().flatten()
}

/// The type that a `cel.expr.Type` describes.
fn type_of(json: &Json) -> Result<Type, String> {
    let Some((kind, inner)) = members(json).next() else {
        return Err("a type without a kind".to_owned());
    };
    Ok(match (kind.as_str(), text(inner)) {
        ("dyn", _) => Type::Dyn,
        ("null", _) => Type::Null,
        ("primitive", "BOOL") => Type::Bool,
        ("primitive", "INT64") => Type::Int,
        ("primitive", "UINT64") => Type::Uint,
        ("primitive", "DOUBLE") => Type::Double,
        ("primitive", "STRING") => Type::String,
        ("primitive", "BYTES") => Type::Bytes,
        ("wellKnown", "TIMESTAMP") => Type::Timestamp,
        ("wellKnown", "DURATION") => Type::Duration,
        ("listType", _) => Type::list(type_of(&inner["elemType"])?),
        ("mapType", _) => Type::map(type_of(&inner["keyType"])?, type_of(&inner["valueType"])?),
        ("type", _) => Type::Type(Some(Arc::new(type_of(inner).unwrap_or(Type::Dyn)))),
        ("abstractType", _) if inner["name"] == "optional_type" => {
            Type::optional(type_of(&inner["parameterTypes"][0])?)
        }
        ("abstractType", _) => {
            let parameters: Result<Vec<Type>, String> = elements(&inner["parameterTypes"])
                .iter()
                .map(type_of)
                .collect();
            Type::Opaque(text(&inner["name"]).into(), parameters?.into())
        }
        _ => return Err(format!("a type of protobuf: {kind} {}", text(inner))),
    })
}

/// The value that a `cel.expr.Value` describes.
fn value_of(json: &Json) -> Result<Value<'_>, String> {
    let Some((kind, inner)) = members(json).next() else {
        return Err("an unknown value".to_owned());
    };
    let unreadable = |_| format!("{kind} {inner}");
    Ok(match kind.as_str() {
        "nullValue" => Value::Null,
        "boolValue" => Value::Bool(inner == true),
        "int64Value" => Value::Int(text(inner).parse().map_err(unreadable)?),
        "uint64Value" => Value::Uint(text(inner).parse().map_err(unreadable)?),
        "doubleValue" => Value::Double(double(inner)),
        "stringValue" => Value::String(Text::Borrowed(text(inner))),
        "bytesValue" => Value::Bytes(bytes(inner).into()),
        "listValue" => {
            let values: Result<_, String> =
                elements(&inner["values"]).iter().map(value_of).collect();
            Value::list(values?)
        }
        "mapValue" => {
            let mut entries = BTreeMap::new();
            for entry in elements(&inner["entries"]) {
                let key = match value_of(&entry["key"])? {
                    Value::Bool(key) => Key::Bool(key),
                    Value::Int(key) => Key::Int(key),
                    Value::Uint(key) => Key::Uint(key),
                    Value::String(key) => Key::String(key),
                    other => return Err(format!("a key of type {}", other.type_name())),
                };
                entries.insert(key, value_of(&entry["value"])?);
            }
            Value::Map(Map::Values(Arc::new(entries)))
        }
        _ => return Err(format!("a value of protobuf: {kind} {}", inner["@type"])),
    })
}

fn double(json: &Json) -> f64 {
    match json.as_str() {
        Some("Infinity") => f64::INFINITY,
        Some("-Infinity") => f64::NEG_INFINITY,
        Some(_) => f64::NAN,
        None => json.as_f64().unwrap_or(f64::NAN),
    }
}

fn bytes(json: &Json) -> Vec<u8> {
    STANDARD.decode(text(json)).unwrap_or_default()
}

/// The `cel.expr.Value` that describes a value; none of values of Kubernetes' own types.
fn described(value: &Value<'_>) -> Option<Json> {
    let message = |name: &str| json!({"@type": format!("type.googleapis.com/{name}"), "value": value.to_string()});
    Some(match value {
        Value::Null => json!({"nullValue": null}),
        Value::Bool(value) => json!({"boolValue": value}),
        Value::Int(value) => json!({"int64Value": value.to_string()}),
        Value::Uint(value) => json!({"uint64Value": value.to_string()}),
        Value::Double(value) if value.is_nan() => json!({"doubleValue": "NaN"}),
        Value::Double(value) if value.is_infinite() && *value > 0.0 => {
            json!({"doubleValue": "Infinity"})
        }
        Value::Double(value) if value.is_infinite() => json!({"doubleValue": "-Infinity"}),
        Value::Double(value) => json!({"doubleValue": value}),
        Value::String(value) => json!({"stringValue": &**value}),
        Value::Bytes(value) => json!({"bytesValue": STANDARD.encode(value)}),
        Value::Type(_) => json!({"typeValue": value.to_string()}),
        Value::Timestamp(_) | Value::Duration(_) => {
            json!({"objectValue": message(value.type_name())})
        }
        Value::List(list) => {
            let values: Option<Vec<Json>> = list.iter().map(|value| described(&value)).collect();
            json!({"listValue": {"values": values?}})
        }
        Value::Map(map) => {
            let entries: Option<Vec<Json>> = map
                .entries()
                .iter()
                .map(|(key, value)| {
                    Some(json!({"key": described(key)?, "value": described(value)?}))
                })
                .collect();
            json!({"mapValue": {"entries": entries?}})
        }
        _ => return None,
    })
}
