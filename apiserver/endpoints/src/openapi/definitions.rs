//! The schemas of custom resources: what their definitions say, and what every object has.

use kubewright_apiextensions::custom::Custom;
use kubewright_apimachinery::descriptions::Descriptions;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Value, json};

use super::names::{kind_value, name_of};
use super::v2::without_what_v2_cannot_say;

const OBJECT_META: &str = "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const EMBEDDED_VERSION: &str = "apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const EMBEDDED_KIND: &str = "kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const PRESERVES_UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";
const LIST_META: &str = "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

/// The schema of a kind's objects.
pub(super) fn object(
    kind: &GroupVersionKind,
    custom: &Custom,
    meta: &Value,
    for_v2: bool,
) -> Value {
    let mut schema = custom.written.clone();
    // Old kubectl takes named fields for all that there are.
    let anything = for_v2 && schema.flag(PRESERVES_UNKNOWN);
    if anything || !schema.is_object() {
        schema = json!({ "type": "object" });
    } else {
        if for_v2 {
            without_what_v2_cannot_say(&mut schema);
        } else {
            unfold(&mut schema);
        }
        embed(&mut schema, meta, for_v2);
        if let Some(properties) = schema.part("properties") {
            type_meta(properties);
            properties.put(
                "metadata",
                json!({ "allOf": [meta], "description": OBJECT_META }),
            );
        }
    }
    schema.put("x-kubernetes-group-version-kind", vec![kind_value(kind)]);
    select(&mut schema, custom);
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
    select(&mut schema, custom);
    (name_of(&list), schema)
}

fn select(schema: &mut Value, custom: &Custom) {
    if !custom.selectable.is_empty() {
        let fields: Vec<Value> = custom
            .selectable
            .iter()
            .map(|field| json!({ "fieldPath": field.name() }))
            .collect();
        schema.put("x-kubernetes-selectable-fields", fields);
    }
}

fn type_meta(properties: &mut Value) {
    let descriptions = Descriptions::of("");
    for field in ["apiVersion", "kind"] {
        let text = descriptions.field(field);
        properties.put(field, json!({ "type": "string", "description": text }));
    }
}

/// An integer or a string is one of the two, whatever else the schema says.
fn unfold(schema: &mut Value) {
    for_each_below(schema, &mut unfold);
    if !schema.flag("x-kubernetes-int-or-string") {
        return;
    }
    let either = json!([{ "type": "integer" }, { "type": "string" }]);
    let first = schema.list("allOf").first();
    if schema.get("anyOf") == Some(&either)
        || first.is_some_and(|first| first.get("anyOf") == Some(&either))
    {
        return;
    }
    if schema.get("anyOf").is_none() {
        schema.put("anyOf", either);
        return;
    }
    let mut all = vec![json!({ "anyOf": either })];
    all.extend_from_slice(schema.list("allOf"));
    schema.put("allOf", all);
}

fn for_each_below(schema: &mut Value, change: &mut dyn FnMut(&mut Value)) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(&mut *change);
    }
    for below in ["items", "additionalProperties"] {
        if let Some(below) = schema.existing(below) {
            change(below);
        }
    }
}

/// Objects inside of objects have metadata, too.
fn embed(schema: &mut Value, meta: &Value, for_v2: bool) {
    for_each_below(schema, &mut |below| embed(below, meta, for_v2));
    if !schema.flag("x-kubernetes-embedded-resource") || for_v2 && schema.flag(PRESERVES_UNKNOWN) {
        return;
    }
    if let Some(properties) = schema.part("properties") {
        for (field, text) in [("apiVersion", EMBEDDED_VERSION), ("kind", EMBEDDED_KIND)] {
            properties.put(field, json!({ "type": "string", "description": text }));
        }
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
