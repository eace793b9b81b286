//! Structural schemas that a server accepts: every type, format, bound and extension.

use serde_json::{Map, Value, json};

use super::patterns::PATTERNS;
use super::{rules, values};
use crate::generate::random::Random;

/// Formats of strings that a server knows, and some that it does not.
pub(super) const FORMATS: [&str; 30] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "date-time",
    "k8s-short-name",
    "k8s-long-name",
    "int32",
    "binary",
    "nosuch",
];

/// The schema of a property.
pub(super) fn property(random: &mut Random, depth: usize) -> Value {
    let mut schema = typed(random, depth);
    if random.one_in(5) {
        junctors(random, &mut schema);
    }
    if random.one_in(4) {
        rules::add(random, &mut schema);
    }
    if random.one_in(6) && !is_unknown(&schema) {
        schema["nullable"] = true.into();
    }
    if random.one_in(5) {
        schema["default"] = values::fit(random, &schema);
    }
    if random.one_in(12) {
        schema["description"] = "A field.".into();
        schema["title"] = "Field".into();
    }
    schema
}

fn is_unknown(schema: &Value) -> bool {
    schema.get("type").is_none()
}

fn typed(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 12 } else { 18 }) {
        0..4 => string(random),
        4..7 => integer(random),
        7..9 => number(random),
        9 => json!({"type": "boolean"}),
        10 => json!({"x-kubernetes-int-or-string": true}),
        11 => match random.below(3) {
            0 => json!({"x-kubernetes-preserve-unknown-fields": true}),
            1 => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            _ => {
                json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true})
            }
        },
        12..15 => array(random, depth - 1),
        15 => map(random, depth - 1),
        _ => object(random, depth - 1),
    }
}

fn string(random: &mut Random) -> Value {
    let mut schema = json!({"type": "string"});
    match random.below(8) {
        0..3 => schema["format"] = random.pick(&FORMATS).into(),
        3 => schema["pattern"] = random.one_of(&PATTERNS).0.into(),
        4 => schema["enum"] = json!(["a", "b", "ab c"]),
        5 => schema["enum"] = json!(["", "true", "1"]),
        _ => bounds(random, &mut schema, "minLength", "maxLength"),
    }
    schema
}

fn integer(random: &mut Random) -> Value {
    let mut schema = json!({"type": "integer"});
    let format = random.pick(&["", "", "int32", "int64", "uint32", "float"]);
    if !format.is_empty() {
        schema["format"] = format.into();
    }
    let bounds: Vec<Value> = match format {
        "int32" => vec![
            json!(1),
            json!(0),
            json!(-5),
            json!(10),
            json!(2_147_483_647),
            json!(100.0),
        ],
        _ => vec![
            json!(1),
            json!(0),
            json!(-5),
            json!(10),
            json!(2_147_483_648_i64),
            json!(9_007_199_254_740_992_i64),
            json!(1.5),
            json!(5_000_000_000_i64),
            json!(1e3),
        ],
    };
    numeric(
        random,
        &mut schema,
        &bounds,
        &[json!(2), json!(5), json!(10), json!(1)],
    );
    if random.one_in(8) {
        schema["enum"] = json!([1, 2, 5]);
    }
    schema
}

fn number(random: &mut Random) -> Value {
    let mut schema = json!({"type": "number"});
    let format = random.pick(&["", "", "float", "double", "int32"]);
    if !format.is_empty() {
        schema["format"] = format.into();
    }
    let bounds = [
        json!(0),
        json!(0.5),
        json!(-1.25),
        json!(1e6),
        json!(0.1),
        json!(3.5e38),
        json!(100),
        json!(1e21),
    ];
    numeric(
        random,
        &mut schema,
        &bounds,
        &[json!(0.5), json!(0.01), json!(0.1), json!(2), json!(1.5)],
    );
    if random.one_in(8) {
        schema["enum"] = json!([1, 1.5, 2.25]);
    }
    schema
}

fn numeric(random: &mut Random, schema: &mut Value, bounds: &[Value], steps: &[Value]) {
    for (bound, exclusive) in [
        ("minimum", "exclusiveMinimum"),
        ("maximum", "exclusiveMaximum"),
    ] {
        if random.one_in(3) {
            schema[bound] = random.one_of(bounds);
            if random.one_in(4) {
                schema[exclusive] = true.into();
            }
        }
    }
    if random.one_in(5) {
        schema["multipleOf"] = random.one_of(steps);
    }
    // A range without a value in it says little.
    if let (Some(least), Some(most)) = (schema["minimum"].as_f64(), schema["maximum"].as_f64())
        && least >= most
    {
        schema
            .as_object_mut()
            .map(|schema| schema.remove("maximum"));
    }
    if let Some(schema) = schema.as_object_mut() {
        schema.retain(|_, value| !value.is_null());
    }
}

fn bounds(random: &mut Random, schema: &mut Value, least: &str, most: &str) {
    let first = random.between(0, 2);
    if random.one_in(2) {
        schema[least] = first.into();
    }
    if random.one_in(2) {
        schema[most] = (first + random.between(0, 3)).into();
    }
}

fn array(random: &mut Random, depth: usize) -> Value {
    let mut schema = json!({"type": "array"});
    match random.below(5) {
        0 => {
            schema["x-kubernetes-list-type"] = "set".into();
            schema["items"] = random.one_of(&[
                json!({"type": "string", "maxLength": 4}),
                json!({"type": "integer"}),
                json!({"type": "number"}),
                json!({"x-kubernetes-int-or-string": true}),
                json!({"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}),
                json!({"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "integer"}}),
            ]);
        }
        1 => {
            schema["x-kubernetes-list-type"] = "map".into();
            let mut keys = json!({"k": random.one_of(&[
                json!({"type": "string", "maxLength": 4}), json!({"type": "integer"}), json!({"type": "boolean"}),
            ])});
            let (mut required, mut names) = (vec!["k"], vec!["k"]);
            if random.one_in(3) {
                keys["l"] = json!({"type": "string", "default": "x"});
                names.push("l");
            }
            keys["v"] = property(random, depth.min(1));
            if random.one_in(3) {
                required.push("v");
            }
            schema["x-kubernetes-list-map-keys"] = names.into();
            schema["items"] = json!({"type": "object", "required": required, "properties": keys});
        }
        2 => {
            schema["x-kubernetes-list-type"] = "atomic".into();
            schema["items"] = property(random, depth);
        }
        _ => schema["items"] = property(random, depth),
    }
    if let Some(items) = schema["items"].as_object_mut()
        && items.contains_key("nullable")
    {
        items.remove("default");
    }
    bounds(random, &mut schema, "minItems", "maxItems");
    schema
}

fn map(random: &mut Random, depth: usize) -> Value {
    let mut schema = json!({"type": "object", "additionalProperties": property(random, depth)});
    bounds(random, &mut schema, "minProperties", "maxProperties");
    if random.one_in(4) {
        schema["x-kubernetes-map-type"] = random.pick(&["atomic", "granular"]).into();
    }
    schema
}

fn object(random: &mut Random, depth: usize) -> Value {
    let names = ["a", "b", "c-d", "metadata", "e.f/g", "kind", "namespace"];
    let mut properties = Map::new();
    for _ in 0..random.between(1, 3) {
        properties.insert(random.pick(&names).to_owned(), property(random, depth));
    }
    let mut schema = json!({"type": "object"});
    let required: Vec<&String> = properties.keys().filter(|_| random.one_in(4)).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["properties"] = properties.into();
    match random.below(10) {
        0 => bounds(random, &mut schema, "minProperties", "maxProperties"),
        1 => schema["x-kubernetes-preserve-unknown-fields"] = true.into(),
        2 => schema["x-kubernetes-map-type"] = "atomic".into(),
        3 => {
            schema["x-kubernetes-embedded-resource"] = true.into();
            if let Some(properties) = schema["properties"].as_object_mut() {
                properties.remove("metadata");
                properties.remove("kind");
            }
            if let Some(required) = schema["required"].as_array_mut() {
                required.retain(|name| name != "metadata" && name != "kind");
            }
        }
        _ => {}
    }
    schema
}

/// Adds conditions that are joined: of the kind that the type has.
fn junctors(random: &mut Random, schema: &mut Value) {
    let word = random.pick(&["allOf", "anyOf", "oneOf", "not"]);
    let mut condition = |schema: &Value| condition(random, schema);
    schema[word] = if word == "not" {
        condition(schema)
    } else {
        json!([condition(schema), condition(schema)])
    };
}

/// A condition without a type, as they are written within `allOf` and the others.
fn condition(random: &mut Random, schema: &Value) -> Value {
    let conditions = match schema["type"].as_str() {
        Some("string") => vec![
            json!({"minLength": 2}),
            json!({"maxLength": 3}),
            json!({"pattern": "^a"}),
            json!({"enum": ["a", "ab"]}),
            json!({"format": "ipv4"}),
            json!({"not": {"pattern": "b$"}}),
            json!({}),
        ],
        Some("integer" | "number") => vec![
            json!({"minimum": 2}),
            json!({"maximum": 7}),
            json!({"multipleOf": 2}),
            json!({"enum": [1, 5]}),
            json!({"minimum": 3, "exclusiveMinimum": true}),
            json!({"not": {"maximum": 4}}),
        ],
        Some("array") => vec![
            json!({"minItems": 1}),
            json!({"maxItems": 1}),
            json!({"not": {"minItems": 3}}),
        ],
        Some("object") => {
            let mut conditions = vec![json!({"minProperties": 1}), json!({"maxProperties": 1})];
            if let Some(properties) = schema["properties"].as_object() {
                conditions.extend(properties.keys().map(|name| json!({"required": [name]})));
                for (name, schema) in properties {
                    conditions.push(json!({"properties": {name: condition(random, schema)}}));
                }
            }
            conditions
        }
        _ => vec![json!({"enum": ["a", 1]}), json!({"not": {"enum": [0]}})],
    };
    random.one_of(&conditions)
}

/// Changes a schema so that values which it took may no longer fit.
pub(super) fn tighten(random: &mut Random, schema: &mut Value) {
    let condition = condition(random, schema);
    if let (Some(schema), Value::Object(condition)) = (schema.as_object_mut(), condition) {
        schema.remove("default");
        schema.extend(condition);
    }
    if random.one_in(3) {
        rules::add(random, schema);
    }
}
