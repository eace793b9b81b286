//! Pruning, defaults and validation of objects.

use serde_json::{Value, json};

use super::super::{Change, Structural};

fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn pruned(schema: &Value, mut value: Value) -> (Value, Vec<String>) {
    let unknown = Structural::read(schema).prune(&mut value).expect("fits");
    (value, unknown)
}

fn defaulted(schema: &Value, mut value: Value) -> Value {
    Structural::read(schema).default(&mut value);
    value
}

/// The errors of a new object whose field `x` has this schema and this value.
fn found(schema: Value, value: Value) -> Vec<String> {
    let schema = object(json!({"spec": object(json!({"x": schema}))}));
    errors(&schema, &json!({"spec": {"x": value}}), None)
}

fn errors(schema: &Value, new: &Value, old: Option<&Value>) -> Vec<String> {
    let structural = Structural::read(schema);
    let mut errors = Vec::new();
    let change = Change {
        new,
        old,
        status: false,
    };
    structural.validate(change, &mut errors);
    structural.validate_rules(change, &mut errors);
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn fields_that_the_schema_does_not_have_go() {
    let schema = object(json!({"spec": object(json!({
        "known": {"type": "string"},
        "list": {"type": "array", "items": object(json!({"a": {"type": "string"}}))},
        "map": {"type": "object", "additionalProperties": object(json!({"b": {"type": "string"}}))},
        "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"typed": object(json!({"c": {"type": "string"}}))}},
    }))}));
    let (value, unknown) = pruned(
        &schema,
        json!({"apiVersion": "g/v", "kind": "K", "metadata": {"name": "n"}, "extra": 1, "spec": {
            "known": "k", "unknown": {"deep": true},
            "list": [{"a": "x", "z": 1}],
            "map": {"m": {"b": "x", "z": 1}},
            "anything": {"free": {"as": "air"}, "typed": {"c": "x", "z": 1}},
        }}),
    );
    assert_eq!(
        value,
        json!({"apiVersion": "g/v", "kind": "K", "metadata": {"name": "n"}, "spec": {
            "known": "k",
            "list": [{"a": "x"}],
            "map": {"m": {"b": "x"}},
            "anything": {"free": {"as": "air"}, "typed": {"c": "x"}},
        }})
    );
    assert_eq!(
        unknown,
        [
            "extra",
            "spec.anything.typed.z",
            "spec.list[0].z",
            "spec.map.m.z",
            "spec.unknown",
        ]
    );
}

#[test]
fn the_metadata_of_objects_inside_keep_what_metadata_have() {
    let schema = object(json!({"spec": object(json!({"template": {
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
    }}))}));
    let (value, unknown) = pruned(
        &schema,
        json!({"spec": {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "n", "oops": 1}}}}),
    );
    assert_eq!(
        value,
        json!({"spec": {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "n"}}}})
    );
    assert_eq!(unknown, ["spec.template.metadata.oops"]);
}

#[test]
fn nulls_that_stand_for_nothing_go_and_others_become_defaults() {
    let schema = object(json!({"spec": object(json!({
        "plain": {"type": "string"},
        "nullable": {"type": "string", "nullable": true},
        "default": {"type": "string", "default": "d"},
        "both": {"type": "string", "nullable": true, "default": "d"},
    }))}));
    let (value, _) = pruned(
        &schema,
        json!({"spec": {"plain": null, "nullable": null, "default": null, "both": null}}),
    );
    assert_eq!(
        value,
        json!({"spec": {"nullable": null, "default": null, "both": null}})
    );
    assert_eq!(
        defaulted(&schema, value),
        json!({"spec": {"nullable": null, "default": "d", "both": null}})
    );
}

#[test]
fn defaults_come_into_items_and_entries_and_not_into_what_is_absent() {
    let inner = object(json!({"a": {"type": "integer", "default": 1}}));
    let schema = object(json!({
        "spec": object(json!({
            "absent": inner.clone(),
            "list": {"type": "array", "items": inner.clone()},
            "map": {"type": "object", "additionalProperties": inner.clone()},
            "given": {"type": "object", "default": {}, "properties": inner["properties"]},
        })),
    }));
    assert_eq!(
        defaulted(
            &schema,
            json!({"spec": {"list": [{}, {"a": 2}], "map": {"m": {}}}})
        ),
        json!({"spec": {"list": [{"a": 1}, {"a": 2}], "map": {"m": {"a": 1}}, "given": {"a": 1}}})
    );
}

#[test]
fn values_that_break_their_schema_are_told_in_the_words_of_the_real_server() {
    for (schema, value, expected) in [
        (
            json!({"type": "integer"}),
            json!("a"),
            "spec.x: Invalid value: \"string\": spec.x in body must be of type integer: \"string\"",
        ),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            json!("c"),
            "spec.x: Unsupported value: \"c\": supported values: \"a\", \"b\"",
        ),
        (
            json!({"type": "integer", "minimum": 1}),
            json!(0),
            "spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 1",
        ),
        (
            json!({"type": "integer", "maximum": 3, "exclusiveMaximum": true}),
            json!(3),
            "spec.x: Invalid value: 3: spec.x in body should be less than 3",
        ),
        (
            json!({"type": "number", "maximum": 1.5}),
            json!(2.5),
            "spec.x: Invalid value: 2.5: spec.x in body should be less than or equal to 1.5",
        ),
        (
            json!({"type": "string", "minLength": 1}),
            json!(""),
            "spec.x: Invalid value: \"\": spec.x in body should be at least 1 chars long",
        ),
        (
            json!({"type": "string", "maxLength": 2}),
            json!("abc"),
            "spec.x: Too long: may not be more than 2 bytes",
        ),
        (
            json!({"type": "string", "pattern": "^a+$"}),
            json!("b"),
            "spec.x: Invalid value: \"b\": spec.x in body should match '^a+$'",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
            json!([]),
            "spec.x: Invalid value: 0: spec.x in body should have at least 1 items",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "maxItems": 1}),
            json!(["a", "b"]),
            "spec.x: Too many: 2: must have at most 1 item",
        ),
        (
            json!({"type": "integer", "multipleOf": 5}),
            json!(7),
            "spec.x: Invalid value: 7: spec.x in body should be a multiple of 5",
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            json!("v"),
            "spec.x: Invalid value: \"v\": spec.x in body must be of type date-time: \"v\"",
        ),
        (
            json!({"type": "object", "required": ["y"], "properties": {"y": {"type": "string"}}}),
            json!({}),
            "spec.x.y: Required value",
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!(true),
            "spec.x: Invalid value: \"boolean\": spec.x in body must be of type integer,string: \"boolean\"",
        ),
        (
            json!({"type": "string"}),
            json!(null),
            "spec.x: Invalid value: \"null\": spec.x in body must be of type string: \"null\"",
        ),
        (
            json!({"type": "integer", "format": "int32"}),
            json!(3_000_000_000_u64),
            "<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in spec.x",
        ),
        (
            json!({"type": "object", "maxProperties": 1, "additionalProperties": {"type": "string"}}),
            json!({"a": "b", "c": "d"}),
            "spec.x: Too many: 2: must have at most 1 item",
        ),
        (
            json!({"type": "string", "not": {"enum": ["a"]}}),
            json!("a"),
            "<nil>: Invalid value: \"\": \"spec.x\" must not validate the schema (not)",
        ),
        (
            json!({"type": "string", "oneOf": [{"minLength": 1}, {"maxLength": 3}]}),
            json!("a"),
            "<nil>: Invalid value: \"\": \"spec.x\" must validate one and only one schema (oneOf). Found 2 valid alternatives",
        ),
        (
            json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}),
            json!(["a", "b", "a", "a"]),
            "spec.x[2]: Duplicate value: \"a\"",
        ),
        (
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": object(json!({"name": {"type": "string"}}))}),
            json!([{"name": "a"}, {"name": "a"}]),
            "spec.x[1]: Duplicate value: {\"name\":\"a\"}",
        ),
    ] {
        assert_eq!(found(schema.clone(), value), [expected], "{schema}");
    }
}

#[test]
fn what_was_wrong_before_and_has_not_changed_may_stay() {
    let schema = object(json!({"spec": object(json!({
        "old": {"type": "string", "maxLength": 1},
        "new": {"type": "string", "maxLength": 1},
        "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": object(json!({"name": {"type": "string"}, "v": {"type": "string", "maxLength": 1}}))},
    }))}));
    let old = json!({"spec": {"old": "aa", "list": [{"name": "a", "v": "aa"}, {"name": "b", "v": "bb"}]}});
    let new = json!({"spec": {"old": "aa", "new": "bb", "list": [{"name": "b", "v": "bb"}, {"name": "a", "v": "cc"}]}});
    assert_eq!(
        errors(&schema, &new, Some(&old)),
        [
            "spec.list[1].v: Too long: may not be more than 1 byte",
            "spec.new: Too long: may not be more than 1 byte",
        ]
    );
}
