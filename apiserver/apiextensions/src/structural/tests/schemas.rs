//! What is wrong with the schemas of definitions.

use kubewright_apimachinery::field::Path;
use serde_json::{Value, json};

use super::super::{check, settle_defaults};

/// The errors of a schema whose field `x` has this schema.
fn field(schema: Value) -> Vec<String> {
    root(json!({"type": "object", "properties": {"x": schema}}))
}

fn root(schema: Value) -> Vec<String> {
    let errors = check(&schema, &Path::new("schema"), false);
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn a_schema_that_is_not_structural_is_refused() {
    for (schema, expected) in [
        (
            json!({}),
            "schema.properties[x].type: Required value: must not be empty for specified object fields",
        ),
        (
            json!({"type": "array"}),
            "schema.properties[x].items: Required value: must be specified",
        ),
        (
            json!({"type": "array", "items": {}}),
            "schema.properties[x].items.type: Required value: must not be empty for specified array items",
        ),
        (
            json!({"type": "string", "anyOf": [{"type": "string"}]}),
            "schema.properties[x].anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            json!({"type": "string", "not": {"description": "d"}}),
            "schema.properties[x].not.description: Forbidden: must be empty to be structural",
        ),
        (
            json!({"type": "string", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
            "schema.properties[x].type: Invalid value: \"string\": must be object if x-kubernetes-embedded-resource is true",
        ),
        (
            json!({"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true}),
            "schema.properties[x].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if \
             x-kubernetes-int-or-string is true",
        ),
    ] {
        assert_eq!(field(schema.clone()), [expected], "{schema}");
    }
}

#[test]
fn int_or_string_may_name_its_two_types_in_conditions() {
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    for schema in [
        json!({"x-kubernetes-int-or-string": true}),
        json!({"x-kubernetes-int-or-string": true, "anyOf": either}),
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer", "enum": []}, {"type": "string"}]}),
        json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": either}, {"maxLength": 3}]}),
    ] {
        assert_eq!(field(schema.clone()), [""; 0], "{schema}");
    }
}

#[test]
fn the_root_is_an_object_and_leaves_metadata_alone() {
    for (schema, expected) in [
        (
            json!({}),
            "schema.type: Required value: must not be empty at the root",
        ),
        (
            json!({"type": "string"}),
            "schema.type: Invalid value: \"string\": must be object at the root",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            "schema.additionalProperties: Forbidden: must not be used at the root",
        ),
        (
            json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
            "schema.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but \
             metadata is implicitly specified",
        ),
        (
            json!({"type": "object", "allOf": [{"properties": {"y": {"minLength": 1}}}]}),
            "schema.properties[y]: Required value: because it is defined in schema.allOf[0].properties[y]",
        ),
        (
            json!({"type": "object", "nullable": true}),
            "schema.nullable: Forbidden: nullable cannot be true at the root",
        ),
    ] {
        assert_eq!(root(schema.clone()), [expected], "{schema}");
    }
}

#[test]
fn what_definitions_do_not_have_is_refused() {
    for (schema, expected) in [
        (
            json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}}),
            "schema.properties[x].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity \
             becomes quadratic",
        ),
        (
            json!({"type": "object", "properties": {"y": {"type": "string"}}, "additionalProperties": false}),
            "schema.properties[x].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            json!({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}),
            "schema.properties[x].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": {"type": "string"}}}}),
            "schema.properties[x].items.properties[name].default: Required value: this property is in \
             x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ),
        (
            json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}),
            "schema.properties[x].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with \
             x-kubernetes-list-type=set",
        ),
        (
            json!({"type": "string", "x-kubernetes-list-type": "atomic"}),
            "schema.properties[x].type: Invalid value: \"string\": must be array if x-kubernetes-list-type is specified",
        ),
        (
            json!({"type": "string", "$ref": "#/a"}),
            "schema.properties[x].$ref: Forbidden: $ref is not supported",
        ),
    ] {
        assert_eq!(field(schema.clone()), [expected], "{schema}");
    }
}

#[test]
fn defaults_are_what_the_schema_allows() {
    for (schema, expected) in [
        (
            json!({"type": "integer", "default": "a"}),
            "schema.properties[x].default: Invalid value: \"string\": default in body must be of type integer: \"string\"",
        ),
        (
            json!({"type": "object", "default": {"y": 1}}),
            "schema.properties[x].default: Invalid value: {\"y\":1}: must not have unknown fields",
        ),
    ] {
        let found = field(schema.clone());
        assert_eq!(found.len(), 1, "{found:?}");
        let expected = expected.replace("default in body", " in body");
        assert_eq!(found, [expected], "{schema}");
    }
}

#[test]
fn metadata_in_defaults_are_what_go_keeps_of_them() {
    let pod = |metadata: Value| json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata});
    let embedded = json!({
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
    });
    let settled = |mut schema: Value, default: Value| {
        schema["default"] = default;
        let mut root = json!({"type": "object", "properties": {"x": schema}});
        settle_defaults(&mut root);
        root["properties"]["x"]["default"].take()
    };
    for (metadata, kept) in [
        (json!(null), json!({})),
        (
            json!({"name": "a", "unknown": 1, "labels": null, "annotations": {}}),
            json!({"name": "a"}),
        ),
        (json!({"name": 1}), json!({"name": 1})),
    ] {
        let found = settled(embedded.clone(), pod(metadata.clone()));
        assert_eq!(found, pod(kept.clone()), "{metadata}");
        let list = json!({"type": "array", "items": embedded});
        let found = settled(list, json!([pod(metadata.clone())]));
        assert_eq!(found, json!([pod(kept)]), "{metadata}");
    }
    let meta = json!({"type": "object", "default": {"unknown": 1}});
    let mut inside = json!({"properties": {"metadata": meta}});
    settle_defaults(&mut inside);
    assert_eq!(inside["properties"]["metadata"], meta);
}
