//! Breaks schemas: what a structural schema may not say, in one place of it.

use serde_json::{Map, Value, json};

use super::{rules, values};
use crate::generate::random::Random;

/// Sets a keyword somewhere in a schema to what may be wrong there.
pub(super) fn broken(random: &mut Random, schema: &mut Value) {
    let places = places(schema);
    let place = random.one_of(&places);
    let Some(Value::Object(schema)) = schema.pointer_mut(&place) else {
        return;
    };
    let (keyword, value) = fault(random, schema);
    if value == json!("remove") {
        schema.remove(keyword);
    } else {
        schema.insert(keyword.to_owned(), value);
    }
}

fn fault(random: &mut Random, schema: &Map<String, Value>) -> (&'static str, Value) {
    let faults = [
        ("type", json!("remove")),
        ("type", json!("")),
        ("type", json!("null")),
        ("type", json!("object")),
        ("type", json!("array")),
        ("type", json!("string")),
        ("type", json!("integer")),
        ("uniqueItems", json!(true)),
        ("$ref", json!("#/definitions/x")),
        ("id", json!("x")),
        ("additionalProperties", json!(true)),
        ("additionalProperties", json!(false)),
        ("additionalProperties", json!({"type": "string"})),
        ("additionalProperties", json!({})),
        ("patternProperties", json!({"a": {"type": "string"}})),
        ("definitions", json!({"a": {"type": "string"}})),
        ("dependencies", json!({"a": ["b"]})),
        ("additionalItems", json!(true)),
        ("items", json!("remove")),
        ("items", json!([{"type": "string"}])),
        ("items", json!({})),
        ("properties", json!("remove")),
        ("properties", json!({"": {"type": "string"}})),
        ("properties", json!({"a": {}})),
        ("required", json!(["nosuch"])),
        ("required", json!(["a", "a"])),
        ("required", json!([])),
        ("enum", json!([])),
        ("enum", json!([1, 1])),
        ("enum", json!([null])),
        ("enum", json!([{"a": 1}, [2]])),
        ("pattern", json!("(")),
        ("pattern", json!("a**")),
        ("pattern", json!("a{2}{3}")),
        ("pattern", json!("(?=a)")),
        ("pattern", json!(r"\1")),
        ("pattern", json!("a{1001}")),
        ("pattern", json!(r"\p{Nosuch}")),
        ("format", json!("nosuch")),
        ("format", json!("int32")),
        ("minimum", json!(1e308)),
        ("minimum", json!(-9_223_372_036_854_775_808_i64)),
        ("maximum", json!(9_223_372_036_854_775_807_i64)),
        ("maximum", json!(18_446_744_073_709_551_615_u64)),
        ("exclusiveMinimum", json!(true)),
        ("multipleOf", json!(0)),
        ("multipleOf", json!(-1)),
        ("multipleOf", json!(1e-10)),
        ("minLength", json!(-1)),
        ("maxLength", json!(-1)),
        ("maxLength", json!(1.0)),
        ("maxLength", json!(1.5)),
        ("minItems", json!(-1)),
        ("maxProperties", json!(-1)),
        ("minLength", json!(9_223_372_036_854_775_807_i64)),
        ("nullable", json!(true)),
        ("x-kubernetes-int-or-string", json!(true)),
        ("x-kubernetes-int-or-string", json!(false)),
        ("x-kubernetes-preserve-unknown-fields", json!(false)),
        ("x-kubernetes-preserve-unknown-fields", json!(true)),
        ("x-kubernetes-embedded-resource", json!(true)),
        ("x-kubernetes-list-type", json!("nosuch")),
        ("x-kubernetes-list-type", json!("set")),
        ("x-kubernetes-list-type", json!("map")),
        ("x-kubernetes-list-type", json!("atomic")),
        ("x-kubernetes-list-map-keys", json!([])),
        ("x-kubernetes-list-map-keys", json!(["k"])),
        ("x-kubernetes-list-map-keys", json!(["k", "k"])),
        ("x-kubernetes-list-map-keys", json!(["nosuch"])),
        ("x-kubernetes-map-type", json!("nosuch")),
        ("x-kubernetes-map-type", json!("atomic")),
        ("x-kubernetes-nosuch", json!(true)),
        ("nosuch", json!(1)),
        ("not", json!({"type": "string"})),
        ("not", json!({"default": 1})),
        ("not", json!({"nullable": true})),
        ("not", json!({"additionalProperties": {"type": "string"}})),
        ("allOf", json!([])),
        ("allOf", json!([{"properties": {"nosuch": {"minimum": 1}}}])),
        ("anyOf", json!([{"type": "integer"}, {"type": "string"}])),
        ("anyOf", json!([{"description": "x"}])),
        ("oneOf", json!([{"items": {"minimum": 1}}])),
        (
            "oneOf",
            json!([{"x-kubernetes-validations": [{"rule": "true"}]}]),
        ),
        ("externalDocs", json!({"url": "x"})),
        ("example", json!({"a": 1})),
    ];
    match random.below(8) {
        0 => (
            "default",
            values::edge(random, &Value::Object(schema.clone())),
        ),
        1 => (
            "x-kubernetes-validations",
            json!([rules::doubtful(random, schema)]),
        ),
        _ => random.one_of(&faults),
    }
}

/// The pointers to every schema within a schema, the schema itself included.
fn places(schema: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut add = |prefix: String, schema: &Value| {
        found.extend(
            places(schema)
                .into_iter()
                .map(|place| prefix.clone() + &place),
        );
    };
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let name = name.replace('~', "~0").replace('/', "~1");
        add(format!("/properties/{name}"), property);
    }
    for word in ["items", "additionalProperties", "not"] {
        if schema[word].is_object() {
            add(format!("/{word}"), &schema[word]);
        }
    }
    for word in ["allOf", "anyOf", "oneOf"] {
        for (index, condition) in schema[word].as_array().into_iter().flatten().enumerate() {
            add(format!("/{word}/{index}"), condition);
        }
    }
    found
}
