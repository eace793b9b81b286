//! Rules for structural schemas: every node has a type, and conditions only constrain fields of the structure.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use kubewright_cel::Pattern;
use serde_json::Value;

/// Which part of a schema a node is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Returns the error for a field that the server does not support, which prevents it from parsing the schema.
pub(super) fn unsupported(schema: &Value) -> Option<&'static str> {
    let any = |field: &str| match schema.at(field) {
        Value::String(text) => !text.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    };
    let own = [
        (any("id"), "OpenAPIV3Schema 'id' is not supported"),
        (any("$schema"), "OpenAPIV3Schema 'schema' is not supported"),
        (any("$ref"), "OpenAPIV3Schema '$ref' is not supported"),
        (
            any("patternProperties"),
            "OpenAPIV3Schema 'patternProperties' is not supported",
        ),
        (
            any("dependencies"),
            "OpenAPIV3Schema 'dependencies' is not supported",
        ),
        (
            schema.has("additionalItems"),
            "OpenAPIV3Schema 'additionalItems' is not supported",
        ),
        (
            any("definitions"),
            "OpenAPIV3Schema 'definitions' is not supported",
        ),
    ];
    if let Some((_, text)) = own.into_iter().find(|(found, _)| *found) {
        return Some(text);
    }
    let conditions = ["allOf", "anyOf", "oneOf"];
    let nested = std::iter::once(schema.at("not"))
        .chain(conditions.into_iter().flat_map(|field| schema.list(field)));
    if let Some(text) = nested.filter(|one| one.is_object()).find_map(unsupported) {
        return Some(text);
    }
    if schema.at("x-kubernetes-preserve-unknown-fields") == false {
        return Some(
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
        );
    }
    if schema.at("items").is_array() {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array");
    }
    [schema.at("items"), schema.at("additionalProperties")]
        .into_iter()
        .chain(schema.entries("properties").map(|(_, property)| property))
        .filter(|one| one.is_object())
        .find_map(unsupported)
}

/// Checks that a schema is structural. Adds the errors sorted by message.
pub(super) fn check(schema: &Value, at: &Path<'_>, errors: &mut Vec<FieldError>) {
    let mut found = Vec::new();
    invariants(schema, Level::Root, at, &mut found);
    complete(schema, Some(schema), at, at, &mut found);
    let mut keyed: Vec<(String, FieldError)> = found
        .into_iter()
        .map(|error| (error.to_string(), error))
        .collect();
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    errors.extend(keyed.into_iter().map(|(_, error)| error));
}

fn invariants(schema: &Value, level: Level, at: &Path<'_>, errors: &mut Vec<FieldError>) {
    let kind = schema.text("type");
    let items = schema.at("items");
    if kind == "array" && !items.is_object() {
        errors.push(FieldError::required(
            &at.child("items"),
            "must be specified",
        ));
    }
    if items.is_object() {
        invariants(items, Level::Item, &at.child("items"), errors);
    }
    let properties = at.child("properties");
    for (name, property) in schema.entries("properties") {
        invariants(property, Level::Field, &properties.key(name), errors);
    }
    let additional = schema.at("additionalProperties");
    let additional_path = at.child("additionalProperties");
    if !additional.is_null() {
        if level == Level::Root {
            let detail = "must not be used at the root";
            errors.push(FieldError::forbidden(&additional_path, detail));
        }
        if additional.is_object() {
            invariants(additional, Level::Field, &additional_path, errors);
        }
    }
    extensions(schema, at, errors);
    let skip = is_int_or_string(schema.at("anyOf"));
    let skip_first = schema
        .list("allOf")
        .first()
        .is_some_and(|first| is_int_or_string(first.at("anyOf")));
    conditions(schema, skip, skip_first, level, at, errors);
    types(schema, kind, level, at, errors);
    own_fields(schema, level, at, errors);
}

fn extensions(schema: &Value, at: &Path<'_>, errors: &mut Vec<FieldError>) {
    if !schema.flag("x-kubernetes-int-or-string") {
        return;
    }
    for name in [
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
    ] {
        if schema.flag(name) {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(&at.child(name), true, detail));
        }
    }
}

fn types(schema: &Value, kind: &str, level: Level, at: &Path<'_>, errors: &mut Vec<FieldError>) {
    let embedded = schema.flag("x-kubernetes-embedded-resource");
    let preserves = schema.flag("x-kubernetes-preserve-unknown-fields");
    let path = at.child("type");
    if embedded && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if kind.is_empty() {
            FieldError::required(&path, detail)
        } else {
            FieldError::invalid(&path, kind, detail)
        });
    } else if kind.is_empty() && !schema.flag("x-kubernetes-int-or-string") && !preserves {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(&path, detail));
    }
    if embedded && schema.has("additionalProperties") {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(
            &at.child("additionalProperties"),
            detail,
        ));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.push(FieldError::invalid(
            &path,
            kind,
            "must be object at the root",
        ));
    }
    if embedded && !preserves && schema.entries("properties").next().is_none() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(&at.child("properties"), detail));
    }
}

/// The fields that every object has.
fn own_fields(schema: &Value, level: Level, at: &Path<'_>, errors: &mut Vec<FieldError>) {
    let is_object = level == Level::Root || schema.flag("x-kubernetes-embedded-resource");
    let at = at.child("properties");
    let properties = schema.at("properties");
    for name in ["kind", "apiVersion"] {
        if let Some(property) = properties.get(name).filter(|_| is_object) {
            let kind = property.text("type");
            if kind != "string" {
                let at = at.key(name);
                let path = at.child("type");
                errors.push(FieldError::invalid(&path, kind, "must be string"));
            }
        }
    }
    let Some(metadata) = properties.get("metadata") else {
        return;
    };
    let at = at.key("metadata");
    let kind = metadata.text("type");
    if is_object && kind != "object" {
        errors.push(FieldError::invalid(
            &at.child("type"),
            kind,
            "must be object",
        ));
    }
    if level == Level::Root && says_more_than_names(metadata) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(&at, detail));
    }
}

/// The type and the default are looked at elsewhere.
fn says_more_than_names(metadata: &Value) -> bool {
    let Value::Object(members) = metadata else {
        return false;
    };
    members.iter().any(|(name, value)| match name.as_str() {
        "type" | "default" => false,
        "properties" => {
            let names = ["name", "generateName"];
            let properties: Vec<&String> = value
                .as_object()
                .into_iter()
                .flat_map(|m| m.keys())
                .collect();
            !properties.iter().all(|name| names.contains(&name.as_str()))
        }
        _ => match value {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(members) => !members.is_empty() || name == "additionalProperties",
            _ => true,
        },
    })
}

fn is_int_or_string(conditions: &Value) -> bool {
    // An empty list of these says nothing; of others, Go knows it from none.
    const COPIED: [&str; 4] = ["allOf", "anyOf", "oneOf", "enum"];
    // A structural schema has no place for these.
    const LEFT_OUT: [&str; 3] = ["definitions", "dependencies", "patternProperties"];
    let says_nothing = |name: &str, value: &Value| match value {
        Value::Array(items) => COPIED.contains(&name) && items.is_empty(),
        Value::Object(members) => LEFT_OUT.contains(&name) && members.is_empty(),
        Value::Bool(says) => name == "additionalProperties" && !says,
        _ => false,
    };
    let says_only = |condition: &Value, kind: &str| {
        let mut said = condition.as_object().into_iter().flatten();
        condition.text("type") == kind
            && said.all(|(name, value)| name == "type" || says_nothing(name, value))
    };
    matches!(conditions.as_array().map(Vec::as_slice), Some([whole, text])
        if says_only(whole, "integer") && says_only(text, "string"))
}

/// Checks the schemas in `allOf`, `anyOf`, `oneOf` and `not`, and the pattern.
fn conditions(
    schema: &Value,
    skip_any: bool,
    skip_first_of_all: bool,
    level: Level,
    at: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    for field in ["anyOf", "allOf", "oneOf"] {
        if field == "anyOf" && skip_any {
            continue;
        }
        let path = at.child(field);
        for (index, one) in schema.list(field).iter().enumerate() {
            let skip = field == "allOf" && index == 0 && skip_first_of_all;
            condition(one, skip, level, &path.index(index), errors);
        }
    }
    if schema.at("not").is_object() {
        condition(schema.at("not"), false, level, &at.child("not"), errors);
    }
    let pattern = schema.text("pattern");
    if !pattern.is_empty()
        && let Err(reason) = Pattern::compile(pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: {reason}");
        errors.push(FieldError::invalid(&at.child("pattern"), pattern, &detail));
    }
}

fn condition(
    schema: &Value,
    skip_any: bool,
    level: Level,
    at: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    const FORBIDDEN: [(&str, &str); 12] = [
        ("type", "must be empty to be structural"),
        ("additionalProperties", "must be undefined to be structural"),
        ("default", "must be undefined to be structural"),
        ("title", "must be empty to be structural"),
        ("description", "must be empty to be structural"),
        ("nullable", "must be false to be structural"),
        (
            "x-kubernetes-preserve-unknown-fields",
            "must be false to be structural",
        ),
        (
            "x-kubernetes-embedded-resource",
            "must be false to be structural",
        ),
        (
            "x-kubernetes-int-or-string",
            "must be false to be structural",
        ),
        (
            "x-kubernetes-list-map-keys",
            "must be empty to be structural",
        ),
        (
            "x-kubernetes-list-type",
            "must be undefined to be structural",
        ),
        (
            "x-kubernetes-map-type",
            "must be undefined to be structural",
        ),
    ];
    conditions(schema, skip_any, false, level, at, errors);
    if schema.at("items").is_object() {
        condition(schema.at("items"), false, level, &at.child("items"), errors);
    }
    let properties = at.child("properties");
    for (name, property) in schema.entries("properties") {
        condition(property, false, Level::Field, &properties.key(name), errors);
    }
    for (field, detail) in FORBIDDEN {
        let said = match schema.at(field) {
            Value::Null | Value::Bool(false) => field == "default" && schema.has(field),
            Value::String(text) => {
                field == "default" || field.starts_with("x-") || !text.is_empty()
            }
            Value::Array(items) => field == "default" || !items.is_empty(),
            _ => true,
        };
        if said {
            errors.push(FieldError::forbidden(&at.child(field), detail));
        }
    }
    if !schema.list("x-kubernetes-validations").is_empty() {
        let path = at.child("x-kubernetes-validations");
        errors.push(FieldError::forbidden(
            &path,
            "must be empty to be structural",
        ));
    }
    if schema.at("properties").get("metadata").is_some() {
        let path = properties.key("metadata");
        errors.push(FieldError::forbidden(
            &path,
            "must not be specified in a nested context",
        ));
    }
}

/// Whether everything that the conditions of `schema` speak of is in `structure`.
fn complete(
    schema: &Value,
    structure: Option<&Value>,
    at: &Path<'_>,
    said: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let Some(structure) = structure else {
        let detail = format!("because it is defined in {said}");
        errors.push(FieldError::required(at, &detail));
        return;
    };
    if schema.at("not").is_object() {
        spoken_of(
            schema.at("not"),
            Some(structure),
            at,
            &said.child("not"),
            errors,
        );
    }
    for field in ["allOf", "anyOf", "oneOf"] {
        let said = said.child(field);
        for (index, one) in schema.list(field).iter().enumerate() {
            spoken_of(one, Some(structure), at, &said.index(index), errors);
        }
    }
}

fn spoken_of(
    condition: &Value,
    structure: Option<&Value>,
    at: &Path<'_>,
    said: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let Some(schema) = structure else {
        let detail = format!("because it is defined in {said}");
        errors.push(FieldError::required(at, &detail));
        return;
    };
    complete(condition, structure, at, said, errors);
    if condition.at("items").is_object() {
        let items = Some(schema.at("items")).filter(|items| items.is_object());
        let (at, said) = (at.child("items"), said.child("items"));
        spoken_of(condition.at("items"), items, &at, &said, errors);
    }
    let (at, said) = (at.child("properties"), said.child("properties"));
    for (name, property) in condition.entries("properties") {
        let (at, said) = (at.key(name), said.key(name));
        spoken_of(
            property,
            schema.at("properties").get(name),
            &at,
            &said,
            errors,
        );
    }
}
