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

#[test]
fn an_int32_with_a_minimum_accepts_what_is_above_it() {
    let size = json!({"type": "integer", "format": "int32", "minimum": 1, "maximum": 3});
    for fitting in [1, 2, 3] {
        assert_eq!(found(size.clone(), json!(fitting)), [] as [&str; 0]);
    }
    assert_eq!(
        found(size.clone(), json!(0)),
        ["spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 1"]
    );
    assert_eq!(
        found(size, json!(4)),
        ["spec.x: Invalid value: 4: spec.x in body should be less than or equal to 3"]
    );
}

#[test]
fn numbers_of_all_formats_are_held_to_all_bounds() {
    for (kind, format) in [
        ("integer", ""),
        ("integer", "int32"),
        ("integer", "int64"),
        ("number", ""),
        ("number", "float"),
        ("number", "double"),
    ] {
        for (rule, fitting, wrong) in [
            (json!({"minimum": 2}), 2, 1),
            (json!({"minimum": 2, "exclusiveMinimum": true}), 3, 2),
            (json!({"maximum": 2}), 2, 3),
            (json!({"maximum": 2, "exclusiveMaximum": true}), 1, 2),
            (json!({"multipleOf": 2}), 4, 3),
            (json!({"enum": [1, 2]}), 2, 3),
        ] {
            let mut schema = rule.clone();
            schema["type"] = kind.into();
            schema["format"] = format.into();
            assert_eq!(
                found(schema.clone(), json!(fitting)),
                [] as [&str; 0],
                "{schema}"
            );
            assert_eq!(found(schema.clone(), json!(wrong)).len(), 1, "{schema}");
        }
    }
}

#[test]
fn numbers_are_compared_as_go_compares_them() {
    for (schema, value, expected) in [
        (
            json!({"type": "integer", "format": "int32", "maximum": -5_000_000_000_i64}),
            json!(5),
            vec![
                "<nil>: Invalid value: \"\": Maximum boundary value must be of type integer with format int32 in spec.x",
                "spec.x: Invalid value: 5: spec.x in body should be less than or equal to -5e+09",
            ],
        ),
        (
            json!({"type": "number", "multipleOf": 0.5}),
            json!(1),
            vec![
                "spec.x: Invalid value: 0: factor MultipleOf declared for spec.x must be positive: 0",
            ],
        ),
        (
            json!({"type": "number", "multipleOf": 0.5}),
            json!(1.5),
            vec![],
        ),
        (
            json!({"type": "number", "multipleOf": 0.01}),
            json!(4.35),
            vec![],
        ),
        (
            json!({"type": "integer"}),
            json!(123_456_789.01),
            vec![
                "<nil>: Invalid value: \"\": Checked value must be of type integer (default format) in spec.x",
            ],
        ),
        (
            json!({"x-kubernetes-int-or-string": true, "enum": ["a"]}),
            json!(97),
            vec![],
        ),
    ] {
        assert_eq!(found(schema.clone(), value), expected, "{schema}");
    }
}

#[test]
fn choices_that_differ_are_each_told() {
    let schema = json!({"type": "string", "enum": ["a", "b"], "allOf": [{"enum": ["a"]}, {"enum": ["a", "b"]}]});
    assert_eq!(
        found(schema, json!("c")),
        [
            "spec.x: Unsupported value: \"c\": supported values: \"a\"",
            "spec.x: Unsupported value: \"c\": supported values: \"a\", \"b\"",
            "<nil>: Invalid value: \"\": \"spec.x\" must validate all the schemas (allOf). None validated",
        ]
    );
}

#[test]
fn formats_are_those_of_go() {
    for (format, fitting, wrong) in [
        ("mac", "4111111111111111", "411111111111111"),
        ("mac", "00005e005301", "00005e00530g"),
        ("ipv4", "::ffff:1.2.3.4", "::ffff"),
        ("ipv4", "010.0.0.1", "10.0.0"),
        ("email", "a@[1.2.3.4]", "a@[1.2.3]"),
        ("email", "Name <a@b>", "Name a@b"),
        ("email", "Group: a@b;", "Group: a@b, c@d;"),
        ("email", "\"a b\"@c", "a b@c"),
        ("email", "a@b (comment (inside))", "a@b (comment"),
        ("email", "a@b", "a..b@c"),
        ("date", "0000-01-01", "0000-13-01"),
        ("date", "2024-02-29", "2023-02-29"),
        ("date-time", "0000-01-01T00:00:00Z", "0000-01-01T24:00:00Z"),
        ("creditcard", "4111 1111 1111 1111", "2720 9912 3456 7894"),
        ("isbn", "0-306-40615-2", "0-306-40615-3"),
    ] {
        let schema = json!({"type": "string", "format": format});
        assert_eq!(
            found(schema.clone(), json!(fitting)),
            [] as [&str; 0],
            "{format} {fitting}"
        );
        assert_eq!(found(schema, json!(wrong)).len(), 1, "{format} {wrong}");
    }
}

#[test]
fn what_go_does_not_print_is_escaped_in_messages() {
    for (text, shown) in [
        ("\u{feff}", "\\ufeff"),
        ("\u{a0}", "\\u00a0"),
        ("\u{200d}", "\\u200d"),
        ("\u{10ffff}", "\\U0010ffff"),
        ("\u{7f}", "\\x7f"),
        ("\u{1f600}", "\u{1f600}"),
        ("e\u{301}", "e\u{301}"),
    ] {
        assert_eq!(
            found(json!({"type": "string", "enum": ["a"]}), json!(text)),
            [format!(
                "spec.x: Unsupported value: \"{shown}\": supported values: \"a\""
            )]
        );
    }
}

#[test]
fn a_field_of_the_root_gets_its_default_with_what_is_below() {
    let schema = json!({"type": "object", "properties": {
        "status": {"type": "object", "default": {}, "properties": {"phase": {"type": "string", "default": "Pending"}}},
        "spec": {"type": "object", "default": {}},
    }});
    let mut object = json!({});
    Structural::read(&schema).default_field(&mut object, "status");
    assert_eq!(object, json!({"status": {"phase": "Pending"}}));
}
