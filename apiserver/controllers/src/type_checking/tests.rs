//! What type checking finds, by schemas that each test gives.

use kubewright_apimachinery::meta::GroupVersionKind;
use serde_json::{Value, json};

use super::{Documents, warnings};

fn kind(group: &str, version: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
    }
}

/// The warnings for Deployments of this schema; parameters are Settings of the same schema.
fn found(spec: &Value, schema: &Value) -> Vec<(String, String)> {
    let mut described = schema.clone();
    described["x-kubernetes-group-version-kind"] = json!([
        {"group": "apps", "version": "v1", "kind": "Deployment"},
        {"group": "apps", "version": "v1", "kind": "Settings"},
    ]);
    let document = json!({"components": {"schemas": {"described": described}}});
    let deployments = kind("apps", "v1", "Deployment");
    let mut documents = Documents::default();
    documents
        .read
        .insert(Documents::path(&deployments), document);
    let params = super::kinds::of_params(spec);
    let warnings = warnings(spec, &[deployments], params.as_ref(), &documents);
    let text = |warning: &Value, field: &str| warning[field].as_str().unwrap().to_owned();
    warnings
        .iter()
        .map(|warning| (text(warning, "fieldRef"), text(warning, "warning")))
        .collect()
}

fn object(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn validating(expression: &str) -> Value {
    json!({"validations": [{"expression": expression}]})
}

#[test]
fn an_expression_that_fits_the_schema_has_no_warning() {
    let schema = object(&json!({
        "replicas": {"type": "integer"},
        "ratio": {"type": "number"},
        "since": {"type": "string", "format": "date-time"},
        "port": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
        "x-names": {"type": "array", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "paused": {"type": "boolean"},
        "data": {"type": "string", "format": "byte"},
    }));
    for expression in [
        "object.replicas > 1 && oldObject.replicas < 3",
        "object.ratio < 0.5",
        "object.since < timestamp('2026-01-01T00:00:00Z')",
        "object.port == 80 || object.port == 'http'",
        "object.x__dash__names.all(name, name.startsWith('a'))",
        "object.labels.team == 'a' && 'b' in object.labels",
        "!object.paused && size(object.data) > 3",
        "object.kind == 'Deployment' && object.metadata.name != ''",
        "oldObject == null || object != null",
        "request.operation == 'CREATE' && namespaceObject.metadata.name == 'a'",
        "authorizer.group('').resource('pods').check('create').allowed()",
    ] {
        assert_eq!(found(&validating(expression), &schema), [], "{expression}");
    }
}

#[test]
fn a_warning_shows_the_kind_and_the_place_of_the_error() {
    let schema = object(&json!({"replicas": {"type": "integer"}}));
    let at = "spec.validations[0].expression".to_owned();
    for (expression, message, column) in [
        ("object.foo == 'bar'", "undefined field 'foo'", 7),
        (
            "object.replicas == 'a'",
            "found no matching overload for '_==_' applied to '(int, string)'",
            17,
        ),
        (
            "object.metadata.labels.a == 'b'",
            "undefined field 'labels'",
            16,
        ),
        (
            "authorizer.allowed()",
            "found no matching overload for 'allowed' applied to 'kubernetes.authorization.Authorizer.()'",
            19,
        ),
    ] {
        let warning = format!(
            "apps/v1, Kind=Deployment: ERROR: <input>:1:{column}: {message}\n | {expression}\n | {}^\n",
            ".".repeat(column - 1)
        );
        let warnings = found(&validating(expression), &schema);
        assert_eq!(warnings, [(at.clone(), warning)], "{expression}");
    }
}

#[test]
fn expressions_and_message_expressions_have_their_own_warnings() {
    let schema = object(&json!({"foo": {"type": "string"}}));
    let spec = json!({"validations": [
        {"expression": "object.foo == 'bar'", "messageExpression": "object.foo + 1"},
        {"expression": "object.bar == 'foo'"},
    ]});
    let places: Vec<String> = found(&spec, &schema).into_iter().map(|one| one.0).collect();
    assert_eq!(
        places,
        [
            "spec.validations[0].messageExpression",
            "spec.validations[1].expression",
        ]
    );
}

#[test]
fn parameters_have_the_type_of_their_kind_or_any_type() {
    let schema = object(&json!({"foo": {"type": "string"}}));
    let mut spec = validating("object.foo == params.bar");
    spec["paramKind"] = json!({"apiVersion": "apps/v1", "kind": "Settings"});
    let warnings = found(&spec, &schema);
    assert!(
        warnings[0].1.contains("undefined field 'bar'"),
        "{warnings:?}"
    );
    spec["paramKind"]["kind"] = "Unknown".into();
    assert_eq!(found(&spec, &schema), []);
    spec = validating("params != null");
    spec["paramKind"] = json!({"apiVersion": "apps/v1", "kind": "Settings"});
    assert_eq!(found(&spec, &json!({})), []);
}

#[test]
fn variables_have_the_types_of_their_expressions() {
    let schema = object(&json!({"foo": {"type": "integer"}}));
    for (variable, expression, expected) in [
        ("true", "variables.it", None),
        (
            "true",
            "variables.nonExisting",
            Some("undefined field 'nonExisting'"),
        ),
        (
            "'something'",
            "variables.it == object.foo",
            Some("found no matching overload for '_==_' applied to '(string, int)'"),
        ),
        ("object.foo == 'str'", "variables.it == object.foo", None),
    ] {
        let mut spec = validating(expression);
        spec["variables"] = json!([{"name": "it", "expression": variable}]);
        let warnings = found(&spec, &schema);
        assert_eq!(
            warnings.len(),
            usize::from(expected.is_some()),
            "{warnings:?}"
        );
        assert!(expected.is_none_or(|expected| warnings[0].1.contains(expected)));
    }
}

#[test]
fn what_a_schema_does_not_describe_cannot_be_selected_and_spoils_nothing_else() {
    let schema = object(&json!({
        "spec": object(&json!({"text": {"type": "string"}})),
        "status": object(&json!({"any": {"type": "object", "additionalProperties": true}})),
        "quantities": {"type": "object", "additionalProperties": {"oneOf": [{"type": "string"}, {"type": "number"}]}},
    }));
    assert_eq!(found(&validating("has(object.spec.text)"), &schema), []);
    assert_eq!(found(&validating("has(object.status.any)"), &schema), []);
    let warnings = found(&validating("has(object.quantities)"), &schema);
    assert!(
        warnings[0].1.contains("undefined field 'quantities'"),
        "{warnings:?}"
    );
    // A schema without a type is any.
    assert_eq!(found(&validating("object.foo == 1"), &json!({})), []);
}
