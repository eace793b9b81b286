//! Rules of schemas: whether they compile, what they may cost, and what they say of objects.

use kubewright_apimachinery::field::Path;
use serde_json::{Value, json};

use super::super::{Change, Structural, check};

/// A schema whose field `spec` has this type and these rules.
fn schema(spec: Value, rules: Value) -> Value {
    let mut spec = spec;
    spec["x-kubernetes-validations"] = rules;
    json!({"type": "object", "properties": {"spec": spec}})
}

fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

/// What is wrong with a rule on the root of a `spec` with these fields.
fn refused(spec: Value, rule: &str) -> Vec<String> {
    let schema = schema(spec, json!([{"rule": rule}]));
    let errors = check(&schema, &Path::new("s"), false);
    errors.iter().map(ToString::to_string).collect()
}

fn said(schema: &Value, new: Value, old: Option<Value>) -> (Vec<String>, Vec<String>) {
    let structural = Structural::read(schema);
    let (new, old) = (json!({"spec": new}), old.map(|old| json!({"spec": old})));
    let mut errors = Vec::new();
    let change = Change {
        new: &new,
        old: old.as_ref(),
        status: false,
    };
    structural.validate(change, &mut errors);
    let warnings = structural.validate_rules(change, &mut errors);
    (errors.iter().map(ToString::to_string).collect(), warnings)
}

/// The errors of one rule on an object with these fields and this value.
fn broken(properties: Value, rule: &str, value: Value) -> Vec<String> {
    let schema = schema(object(properties), json!([{"rule": rule}]));
    let found = check(&schema, &Path::new("s"), false);
    assert!(found.is_empty(), "{rule}: {found:?}");
    said(&schema, value, None).0
}

#[test]
fn rules_see_values_as_their_schema_declares_them() {
    let fields = json!({
        "text": {"type": "string", "maxLength": 20},
        "number": {"type": "number"},
        "either": {"x-kubernetes-int-or-string": true},
        "date": {"type": "string", "format": "date"},
        "time": {"type": "string", "format": "date-time"},
        "duration": {"type": "string", "format": "duration"},
        "bytes": {"type": "string", "format": "byte", "maxLength": 20},
        "namespace": {"type": "string", "maxLength": 20},
        "a.b-c/d": {"type": "integer"},
        "nothing": {"type": "string", "nullable": true, "maxLength": 20},
        "map": {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "integer"}},
        "set": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 5}},
        "keyed": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string", "maxLength": 5}, "v": {"type": "integer"}}}},
        "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
    });
    let value = json!({
        "text": "abc", "number": 2, "either": "5%", "date": "2026-11-22", "time": "2026-11-22T10:00:00Z",
        "duration": "1h", "bytes": "aGk=", "namespace": "n", "a.b-c/d": 7, "nothing": null, "map": {"x": 1},
        "set": ["a", "b"], "keyed": [{"k": "a", "v": 1}, {"k": "b", "v": 2}],
        "template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "n"}},
    });
    for rule in [
        "self.text.size() == 3",
        "self.number == 2.0 && self.number / 4.0 == 0.5",
        "type(self.either) == string && self.either.endsWith('%')",
        "self.date == timestamp('2026-11-22T00:00:00Z')",
        "self.time.getHours() == 10",
        "self.duration == duration('60m')",
        "self.bytes == b'hi'",
        "self.__namespace__ == 'n'",
        "self.a__dot__b__dash__c__slash__d == 7",
        "!has(self.nothing) && !has(self.text) == false",
        "self.map.all(key, self.map[key] > 0) && 'x' in self.map",
        "self.set == ['b', 'a'] && self.set + ['a', 'c'] == ['c', 'b', 'a']",
        "self.keyed == [self.keyed[1], self.keyed[0]]",
        "(self.keyed + [self.keyed[0]]).size() == 2",
        "self.template.kind == 'Pod' && self.template.metadata.name == 'n'",
    ] {
        assert_eq!(
            broken(fields.clone(), rule, value.clone()),
            [""; 0],
            "{rule}"
        );
    }
}

#[test]
fn a_rule_that_does_not_compile_is_refused() {
    let spec = object(
        json!({"a": {"type": "integer"}, "free": {"x-kubernetes-preserve-unknown-fields": true}}),
    );
    let shown = |rule: &str| {
        let rule = Value::from(rule);
        format!(
            "{{\"Rule\":{rule},\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}}"
        )
    };
    let at = "s.properties[spec].x-kubernetes-validations[0].rule: Invalid value: ";
    for (rule, problem) in [
        (
            "self.b == 1",
            "compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b == 1\n | ....^",
        ),
        (
            "self.free == 1",
            "compilation failed: ERROR: <input>:1:5: undefined field 'free'\n | self.free == 1\n | ....^",
        ),
        ("self.a", "cel expression must evaluate to a bool"),
    ] {
        let expected = format!("{at}{}: {problem}", shown(rule));
        assert_eq!(refused(spec.clone(), rule), [expected]);
    }
}

#[test]
fn a_rule_may_not_cost_too_much() {
    let unbounded = object(json!({
        "list": {"type": "array", "items": {"type": "string"}},
        "bounded": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 10}},
    }));
    assert_eq!(
        refused(
            unbounded.clone(),
            "self.list.all(a, self.list.all(b, a == b))"
        ),
        [
            "s.properties[spec].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of \
             more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, \
             and strings are declared)",
            "s.properties[spec].x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total \
             exceeding cost limit for entire OpenAPIv3 schema",
            "s: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by \
             factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where \
             arrays, maps, and strings are declared)",
        ]
    );
    let bounded = "self.bounded.all(a, self.bounded.all(b, a == b))";
    assert_eq!(refused(unbounded, bounded), [""; 0]);
}

#[test]
fn a_broken_rule_is_told_with_its_message_its_reason_and_its_field() {
    let spec = object(json!({"min": {"type": "integer"}, "max": {"type": "integer"}}));
    let rule = "self.min <= self.max";
    let value = json!({"min": 2, "max": 1});
    for (rule, expected) in [
        (
            json!({"rule": rule}),
            "spec: Invalid value: failed rule: self.min <= self.max",
        ),
        (
            json!({"rule": rule, "message": "too small"}),
            "spec: Invalid value: too small",
        ),
        (
            json!({"rule": rule, "messageExpression": "'min is ' + string(self.min)"}),
            "spec: Invalid value: min is 2",
        ),
        (
            json!({"rule": rule, "message": "plain", "messageExpression": "string(1 / (self.min - 2))"}),
            "spec: Invalid value: plain",
        ),
        (
            json!({"rule": rule, "reason": "FieldValueForbidden", "fieldPath": ".min"}),
            "spec.min: Forbidden: failed rule: self.min <= self.max",
        ),
        (
            json!({"rule": rule, "reason": "FieldValueRequired", "message": "m"}),
            "spec: Required value: m",
        ),
        (
            json!({"rule": rule, "reason": "FieldValueDuplicate"}),
            "spec: Duplicate value",
        ),
        (
            json!({"rule": "self.min / 0 == 1"}),
            "spec: Invalid value: \"object\": division by zero evaluating rule: self.min / 0 == 1",
        ),
    ] {
        let schema = schema(spec.clone(), json!([rule]));
        assert_eq!(said(&schema, value.clone(), None).0, [expected], "{schema}");
    }
}

#[test]
fn a_scalar_is_shown_beside_its_message() {
    let schema = object(
        json!({"spec": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'a'"}]}}),
    );
    assert_eq!(
        said(&schema, json!("a"), None).0,
        ["spec: Invalid value: \"a\": failed rule: self != 'a'"]
    );
}

#[test]
fn transition_rules_run_where_there_is_an_old_value() {
    let schema = schema(
        object(json!({
            "a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]},
            "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {
                "type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
                "x-kubernetes-validations": [{"rule": "self.v == oldSelf.v", "message": "v is for ever"}],
            }},
        })),
        json!([{"rule": "oldSelf.hasValue() || self.a == 1", "optionalOldSelf": true, "message": "starts at 1"}]),
    );
    let found = |new: Value, old: Option<Value>| said(&schema, new, old).0;
    assert_eq!(
        found(json!({"a": 2}), None),
        ["spec: Invalid value: starts at 1"]
    );
    assert_eq!(found(json!({"a": 2}), Some(json!({"a": 1}))), [""; 0]);
    assert_eq!(
        found(json!({"a": 1}), Some(json!({"a": 2}))),
        ["spec.a: Invalid value: 1: failed rule: self >= oldSelf"]
    );
    let old = json!({"a": 1, "list": [{"k": "x", "v": 1}, {"k": "y", "v": 2}]});
    assert_eq!(
        found(
            json!({"a": 1, "list": [{"k": "y", "v": 3}, {"k": "z", "v": 4}]}),
            Some(old)
        ),
        ["spec.list[0]: Invalid value: v is for ever"]
    );
}

#[test]
fn a_rule_that_was_broken_before_is_a_warning_where_nothing_has_changed() {
    let schema = object(json!({"spec": object(json!({
        "a": {"type": "string", "x-kubernetes-validations": [{"rule": "self == 'ok'"}]},
        "b": {"type": "string"},
    }))}));
    let (errors, warnings) = said(
        &schema,
        json!({"a": "bad", "b": "new"}),
        Some(json!({"a": "bad", "b": "old"})),
    );
    assert_eq!(errors, [""; 0]);
    assert_eq!(
        warnings,
        ["spec.a: Invalid value: \"bad\": failed rule: self == 'ok'"]
    );
}

#[test]
fn rules_wait_until_the_object_fits_its_schema() {
    let schema = schema(
        object(json!({"a": {"type": "integer"}})),
        json!([{"rule": "self.a > 0"}]),
    );
    assert_eq!(
        said(&schema, json!({"a": "x"}), None).0,
        [
            "spec.a: Invalid value: \"string\": spec.a in body must be of type integer: \"string\"",
            "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the \
             existing errors to complete validation",
        ]
    );
}

#[test]
fn the_rules_of_one_object_have_a_budget() {
    let schema = schema(
        object(json!({"list": {"type": "array", "items": {"type": "integer"}}})),
        json!([{"rule": "self.list.all(a, self.list.all(b, a + b >= 0))", "message": "m"}]),
    );
    let list: Vec<u32> = (0..2_000).collect();
    assert_eq!(
        said(&schema, json!({"list": list}), None).0,
        [
            "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation rules \
             will be run due to call cost exceeds limit for rule: m"
        ]
    );
}

#[test]
fn old_values_are_only_there_where_they_can_be_found() {
    let rules = json!([{"rule": "self == oldSelf"}]);
    let schema = object(json!({"spec": object(json!({
        "list": {"type": "array", "maxItems": 3, "items": {"type": "integer", "x-kubernetes-validations": rules}},
    }))}));
    let errors = check(&schema, &Path::new("s"), false);
    assert_eq!(
        errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "s.properties[spec].properties[list].items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": \
             oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[spec].properties[list]"
        ]
    );
}

#[test]
fn a_rule_that_reads_a_float_in_an_integer_field_fails() {
    let fields = json!({
        "whole": {"type": "integer"},
        "either": {"x-kubernetes-int-or-string": true},
    });
    for (rule, expected) in [
        (
            "self.whole > 0",
            "spec: Invalid value: invalid data, expected int, got float64 evaluating rule: self.whole > 0",
        ),
        (
            "type(self.either) == int",
            "spec: Invalid value: invalid data, expected XIntOrString value to be either a string or integer evaluating \
             rule: type(self.either) == int",
        ),
        (
            "self.either.nosuch == 1",
            "spec: Invalid value: invalid data, expected XIntOrString value to be either a string or integer evaluating \
             rule: self.either.nosuch == 1",
        ),
        (
            "optional.of(self).optMap(it, it.?whole).value().value() > 0",
            "spec: Invalid value: invalid data, expected int, got float64 evaluating rule: \
             optional.of(self).optMap(it, it.?whole).value().value() > 0",
        ),
    ] {
        let found = broken(fields.clone(), rule, json!({"whole": 2.0, "either": 1.0}));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].replace("\"object\": ", ""), expected);
    }
    let whole = json!({"whole": 2, "either": 1});
    for rule in ["self.whole > 0", "type(self.either) == int", "true"] {
        assert_eq!(broken(fields.clone(), rule, whole.clone()), [] as [&str; 0]);
    }
    let float = json!({"whole": 2.0});
    assert_eq!(broken(fields, "true", float), [] as [&str; 0]);
}

#[test]
fn fields_named_by_words_of_the_language_need_no_escape() {
    let metadata = object(json!({"namespace": {"type": "string", "maxLength": 9}}));
    let fields = json!({
        "metadata": metadata,
        "items": {"type": "array", "maxItems": 3, "items": object(json!({"metadata": metadata}))},
    });
    let value = json!({"metadata": {"namespace": "n"}, "items": [{"metadata": {}}]});
    for rule in [
        "self.metadata.namespace == 'n'",
        "self.metadata.__namespace__ == 'n'",
        "self.items.all(item, !has(item.metadata.namespace))",
    ] {
        assert_eq!(
            broken(fields.clone(), rule, value.clone()),
            [] as [&str; 0],
            "{rule}"
        );
    }
    assert_eq!(
        broken(fields, "!has(self.metadata.namespace)", value).len(),
        1
    );
}
