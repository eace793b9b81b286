//! Structural schemas of custom resources, without what v2 cannot say and old kubectl cannot read.

use serde_json::{Map, Value};

/// Removes it.
pub(crate) fn without_what_v2_cannot_say(schema: &mut Value) {
    if let Value::Object(schema) = schema {
        strip(schema);
    }
}

fn strip(schema: &mut Map<String, Value>) {
    for junctor in ["allOf", "anyOf", "oneOf", "not"] {
        schema.remove(junctor);
    }
    let is_true = |value: Option<&Value>| value == Some(&Value::Bool(true));
    let nullable = is_true(schema.get("nullable"));
    let keeps_unknown = is_true(schema.get("x-kubernetes-preserve-unknown-fields"));
    schema.remove("nullable");
    if nullable {
        schema.remove("type");
    }
    if nullable || keeps_unknown {
        schema.remove("items");
        schema.remove("properties");
    }
    let untyped = match schema.get("type").and_then(Value::as_str) {
        Some("array") => !schema.contains_key("items"),
        Some("object") => keeps_unknown,
        _ => false,
    };
    if untyped {
        schema.remove("type");
    }
    no_nullable_required(schema);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(without_what_v2_cannot_say);
    }
    for below in ["items", "additionalProperties"] {
        if let Some(below) = schema.get_mut(below) {
            without_what_v2_cannot_say(below);
        }
    }
}

/// A field that may be null cannot be required: a client would miss the value.
fn no_nullable_required(schema: &mut Map<String, Value>) {
    let nullable = |schema: &Value| schema.get("nullable") == Some(&Value::Bool(true));
    let all = schema.get("additionalProperties").is_some_and(nullable);
    let properties = schema.get("properties").and_then(Value::as_object).cloned();
    let Some(Value::Array(required)) = schema.get_mut("required") else {
        return;
    };
    required.retain(|name| {
        let name = name.as_str().unwrap_or_default();
        let property = properties
            .as_ref()
            .and_then(|properties| properties.get(name));
        !all && !property.is_some_and(nullable)
    });
    if required.is_empty() {
        schema.remove("required");
    }
}
