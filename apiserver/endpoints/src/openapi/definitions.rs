//! The schemas of custom resources: what their definitions say, and what every object has.

use kubewright_apiextensions::custom::Custom;
use kubewright_apimachinery::descriptions::Descriptions;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Value, json};

use super::names::{kind_value, name_of};

const OBJECT_META: &str = "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const LIST_META: &str = "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

/// The schema of a kind's objects.
pub(super) fn object(kind: &GroupVersionKind, custom: &Custom, meta: &Value) -> Value {
    let mut schema = custom.written.clone();
    if !schema.is_object() {
        schema = json!({ "type": "object" });
    }
    embed(&mut schema, meta);
    if let Some(properties) = schema.part("properties") {
        type_meta(properties);
        properties.put(
            "metadata",
            json!({ "allOf": [meta], "description": OBJECT_META }),
        );
    }
    schema.put("x-kubernetes-group-version-kind", vec![kind_value(kind)]);
    if !custom.selectable.is_empty() {
        let fields: Vec<Value> = custom
            .selectable
            .iter()
            .map(|field| json!({ "fieldPath": field.name() }))
            .collect();
        schema.put("x-kubernetes-selectable-fields", fields);
    }
    schema
}

/// The schema of a kind's lists, and its name.
pub(super) fn list(
    kind: &GroupVersionKind,
    custom: &Custom,
    item: &Value,
    meta: &Value,
) -> (String, Value) {
    let list = GroupVersionKind {
        kind: custom.definition.list_kind.clone(),
        ..kind.clone()
    };
    let plural = custom.definition.plural();
    let mut schema = json!({
        "description": format!("{} is a list of {}", list.kind, kind.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "items": {
                "description": format!(
                    "List of {plural}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
                ),
                "type": "array",
                "items": item,
            },
            "metadata": { "allOf": [meta], "description": LIST_META },
        },
        "x-kubernetes-group-version-kind": [kind_value(&list)],
    });
    if let Some(properties) = schema.part("properties") {
        type_meta(properties);
    }
    (name_of(&list), schema)
}

fn type_meta(properties: &mut Value) {
    let descriptions = Descriptions::of("");
    for field in ["apiVersion", "kind"] {
        let text = descriptions.field(field);
        properties.put(field, json!({ "type": "string", "description": text }));
    }
}

/// Objects inside of objects have metadata, too.
fn embed(schema: &mut Value, meta: &Value) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(|below| embed(below, meta));
    }
    for below in ["items", "additionalProperties"] {
        if let Some(below) = schema.existing(below) {
            embed(below, meta);
        }
    }
    if !schema.flag("x-kubernetes-embedded-resource") {
        return;
    }
    if let Some(properties) = schema.part("properties") {
        type_meta(properties);
        properties.put(
            "metadata",
            json!({ "allOf": [meta], "description": OBJECT_META }),
        );
    }
    let mut required = schema.list("required").to_vec();
    for field in ["kind", "apiVersion"] {
        if !required.iter().any(|known| known == field) {
            required.push(field.into());
        }
    }
    schema.put("required", required);
}
