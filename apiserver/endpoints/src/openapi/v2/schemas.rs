//! Schemas of v3 as v2 writes them: plain references, no defaults, and one type where v3 knows several.

use serde_json::{Map, Value};

/// Returns the schema in v2.
pub(super) fn in_v2(mut schema: Value) -> Value {
    if let Value::Object(fields) = &mut schema {
        convert(fields);
    }
    schema
}

fn convert(schema: &mut Map<String, Value>) {
    schema.remove("default");
    if schema.remove("oneOf").is_some() {
        schema.insert("type".to_owned(), "string".into());
    }
    if let Some(Value::Array(mut all)) = schema.remove("allOf")
        && let Some(Value::Object(referred)) = all.pop()
    {
        schema.extend(referred);
    }
    if let Some(Value::String(reference)) = schema.get_mut("$ref") {
        *reference = reference.replace("#/components/schemas/", "#/definitions/");
    }
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    let below = properties
        .into_iter()
        .flat_map(|properties| properties.values_mut());
    for below in below {
        if let Value::Object(below) = below {
            convert(below);
        }
    }
    for below in ["items", "additionalProperties"] {
        if let Some(Value::Object(below)) = schema.get_mut(below) {
            convert(below);
        }
    }
}
