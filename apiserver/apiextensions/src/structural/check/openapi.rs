//! What no schema of a definition may say, node by node, and what rules must say.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::super::paths;
use super::rules::{Checks, Node};
use super::structure;

/// What is wrong with a schema. Errors of rules stand behind those of the schemas.
pub(super) fn check(
    schema: &Value,
    at: &Path<'_>,
    rules: &mut Option<Checks<'_>>,
    errors: &mut Vec<FieldError>,
) {
    let mut found = Found::default();
    let place = Place {
        root: true,
        ..Place::default()
    };
    let node = rules.as_ref().map(Checks::root);
    node_at(schema, at, place, node, rules, &mut found);
    errors.append(&mut found.schema);
    errors.append(&mut found.rules);
}

#[derive(Default)]
struct Found {
    schema: Vec<FieldError>,
    rules: Vec<FieldError>,
}

/// What the place of a node in its schema forbids.
#[derive(Clone, Copy, Default)]
struct Place<'p> {
    root: bool,
    /// Why there may be no default; empty where there may.
    no_default: &'p str,
    inside_metadata: bool,
    /// The nearest schema whose parts have no old values.
    uncorrelatable: Option<&'p Path<'p>>,
}

fn node_at<'r>(
    schema: &Value,
    at: &Path<'_>,
    place: Place<'_>,
    node: Option<Node<'r>>,
    rules: &mut Option<Checks<'r>>,
    found: &mut Found,
) {
    if !schema.is_object() {
        return;
    }
    let before = found.schema.len();
    standard(schema, at, place, &mut found.schema);
    if schema.flag("uniqueItems") {
        let detail =
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        found
            .schema
            .push(FieldError::forbidden(&at.child("uniqueItems"), detail));
    }
    parts(schema, at, place, node, rules, found);
    shape(schema, at, &mut found.schema);
    items_of_sets_and_maps(schema, at, &mut found.schema);
    let said = schema.list("x-kubernetes-validations");
    if said.is_empty() {
        return;
    }
    let path = at.child("x-kubernetes-validations");
    for (index, rule) in said.iter().enumerate() {
        rule_is_said(rule, schema, &path.index(index), &mut found.schema);
    }
    if found.schema.len() == before
        && let (Some(node), Some(rules)) = (node, rules.as_mut())
    {
        rules.check(node, said, &path, place.uncorrelatable, &mut found.rules);
    }
}

/// The parts of a schema, in the order in which the real server walks them.
fn parts<'r>(
    schema: &Value,
    at: &Path<'_>,
    place: Place<'_>,
    node: Option<Node<'r>>,
    rules: &mut Option<Checks<'r>>,
    found: &mut Found,
) {
    let here = Place {
        root: false,
        ..place
    };
    let additional = schema.at("additionalProperties");
    if !additional.is_null() {
        let path = at.child("additionalProperties");
        if schema.entries("properties").next().is_some() && *additional != true {
            let detail = "additionalProperties and properties are mutual exclusive";
            found.schema.push(FieldError::forbidden(&path, detail));
        }
        let mut below = here;
        if place.inside_metadata {
            below.no_default = "inside additionalProperties applying to object metadata";
        }
        let node = node.and_then(Node::additional);
        node_at(additional, &path, below, node, rules, found);
    }
    let path = at.child("properties");
    let is_object = place.root || schema.flag("x-kubernetes-embedded-resource");
    for (name, property) in schema.entries("properties") {
        let mut below = here;
        let reason = format!("in top-level {name}");
        if !matches!(
            schema.text("x-kubernetes-map-type"),
            "" | "granular" | "atomic"
        ) {
            below.uncorrelatable = below.uncorrelatable.or(Some(at));
        }
        if is_object && matches!(name, "metadata" | "kind" | "apiVersion") {
            below.inside_metadata = true;
            if place.root {
                below.no_default = &reason;
            }
        }
        let node = node.and_then(|node| node.property(name));
        node_at(property, &path.key(name), below, node, rules, found);
    }
    node_at(schema.at("not"), &at.child("not"), here, None, rules, found);
    for field in ["allOf", "oneOf", "anyOf"] {
        let path = at.child(field);
        for (index, one) in schema.list(field).iter().enumerate() {
            node_at(one, &path.index(index), here, None, rules, found);
        }
    }
    let path = at.child("definitions");
    for (name, one) in schema.entries("definitions") {
        node_at(one, &path.key(name), here, None, rules, found);
    }
    let path = at.child("items");
    let mut below = here;
    if schema.text("x-kubernetes-list-type") != "map" {
        below.uncorrelatable = below.uncorrelatable.or(Some(at));
    }
    match schema.at("items") {
        Value::Array(several) => {
            for (index, one) in several.iter().enumerate() {
                node_at(one, &path.index(index), below, None, rules, found);
            }
        }
        one => {
            let node = node.and_then(Node::items);
            node_at(one, &path, below, node, rules, found);
        }
    }
    let path = at.child("dependencies");
    for (name, one) in schema.entries("dependencies") {
        node_at(one, &path.key(name), here, None, rules, found);
    }
}

/// What the standard has and definitions have not.
fn standard(schema: &Value, at: &Path<'_>, place: Place<'_>, errors: &mut Vec<FieldError>) {
    const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
    let kind = schema.text("type");
    if !kind.is_empty() && !TYPES.contains(&kind) {
        errors.push(FieldError::not_supported(&at.child("type"), kind, &TYPES));
    }
    if schema.has("default") && !place.no_default.is_empty() {
        let detail = format!("must not be set {}", place.no_default);
        errors.push(FieldError::forbidden(&at.child("default"), &detail));
    }
    let any = |field: &str| match schema.at(field) {
        Value::String(text) => !text.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    };
    for (field, said) in [
        ("id", any("id")),
        ("additionalItems", schema.has("additionalItems")),
        ("patternProperties", any("patternProperties")),
        ("definitions", any("definitions")),
        ("dependencies", schema.has("dependencies")),
        ("$ref", schema.has("$ref")),
    ] {
        if said {
            let detail = format!("{field} is not supported");
            errors.push(FieldError::forbidden(&at.child(field), &detail));
        }
    }
    if kind == "null" {
        let detail = "type cannot be set to null, use nullable as an alternative";
        errors.push(FieldError::forbidden(&at.child("type"), detail));
    }
    if schema.at("items").is_array() {
        let detail = "items must be a schema object and not an array";
        errors.push(FieldError::forbidden(&at.child("items"), detail));
    }
    if place.inside_metadata && schema.flag("x-kubernetes-embedded-resource") {
        let path = at.child("x-kubernetes-embedded-resource");
        errors.push(FieldError::forbidden(
            &path,
            "must not be used inside of resource meta",
        ));
    }
}

/// The types of lists and maps.
fn shape(schema: &Value, at: &Path<'_>, errors: &mut Vec<FieldError>) {
    const PRESERVES: &str = "x-kubernetes-preserve-unknown-fields";
    const MAP: &str = "x-kubernetes-map-type";
    const LIST: &str = "x-kubernetes-list-type";
    const KEYS: &str = "x-kubernetes-list-map-keys";
    let kind = schema.text("type");
    if *schema.at(PRESERVES) == false {
        let detail = "must be true or undefined";
        errors.push(FieldError::invalid(&at.child(PRESERVES), false, detail));
    }
    if schema.has(MAP) {
        is_kind(schema, "object", MAP, at, errors);
        let map = schema.text(MAP);
        if !matches!(map, "atomic" | "granular") {
            let supported = ["atomic", "granular"];
            errors.push(FieldError::not_supported(&at.child(MAP), map, &supported));
        }
    }
    let list = schema.text(LIST);
    let items = schema.at("items");
    let items_at = at.child("items");
    if schema.has(LIST) {
        if kind != "array" {
            is_kind(schema, "array", LIST, at, errors);
        } else if list == "set" && items.is_object() {
            let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
            let is_list = |field| items.has(field) && items.text(field) != "atomic";
            match items.text("type") {
                "array" if is_list(LIST) => {
                    let value = items.at(LIST).clone();
                    errors.push(FieldError::invalid(&items_at.child(LIST), value, detail));
                }
                "object" if items.text(MAP) != "atomic" => {
                    let value = items.at(LIST).clone();
                    errors.push(FieldError::invalid(&items_at.child(MAP), value, detail));
                }
                _ => {}
            }
        }
        if !matches!(list, "atomic" | "set" | "map") {
            let supported = ["atomic", "set", "map"];
            errors.push(FieldError::not_supported(&at.child(LIST), list, &supported));
        }
    }
    let keys = schema.list(KEYS);
    if !keys.is_empty() {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        if !schema.has(LIST) {
            errors.push(FieldError::required(&at.child(LIST), detail));
        } else if list != "map" {
            errors.push(FieldError::invalid(&at.child(LIST), list, detail));
        }
    }
    if list == "map" {
        let keys_at = at.child(KEYS);
        if keys.is_empty() {
            let detail = "must not be empty if x-kubernetes-list-type is map";
            errors.push(FieldError::required(&keys_at, detail));
        }
        map_items(schema, keys, items, &items_at, &keys_at, errors);
    }
}

fn is_kind(schema: &Value, wanted: &str, by: &str, at: &Path<'_>, errors: &mut Vec<FieldError>) {
    let kind = schema.text("type");
    let path = at.child("type");
    let detail = format!("must be {wanted} if {by} is specified");
    if kind.is_empty() {
        errors.push(FieldError::required(&path, &detail));
    } else if kind != wanted {
        errors.push(FieldError::invalid(&path, kind, &detail));
    }
}

fn map_items(
    schema: &Value,
    keys: &[Value],
    items: &Value,
    items_at: &Path<'_>,
    keys_at: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    match items {
        Value::Object(_) => {}
        Value::Array(_) => {
            let detail = "must only have a single schema if x-kubernetes-list-type is map";
            let value = super::shown::items(items);
            errors.push(FieldError::invalid_shown(items_at, &value, detail));
            return;
        }
        _ => {
            let detail = "must have a schema if x-kubernetes-list-type is map";
            errors.push(FieldError::required(items_at, detail));
            return;
        }
    }
    let kind = items.text("type");
    if kind != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(&items_at.child("type"), kind, detail));
        return;
    }
    let properties = items_at.child("properties");
    for (index, key) in keys.iter().enumerate() {
        let name = key.as_str().unwrap_or_default();
        let whole = || schema.at("x-kubernetes-list-map-keys").clone();
        match items.at("properties").get(name) {
            Some(property) if matches!(property.text("type"), "array" | "object") => {
                let detail =
                    "must be a scalar type if parent array's x-kubernetes-list-type is map";
                let path = properties.key(name);
                errors.push(FieldError::invalid(&path.child("type"), kind, detail));
            }
            Some(_) => {}
            None => {
                let detail = "entries must all be names of item properties";
                errors.push(FieldError::invalid(keys_at, whole(), detail));
            }
        }
        if keys[..index].contains(key) {
            let detail = "must not contain duplicate entries";
            errors.push(FieldError::invalid(keys_at, whole(), detail));
        }
    }
}

/// The items of sets and maps are there, and so are their keys.
fn items_of_sets_and_maps(schema: &Value, at: &Path<'_>, errors: &mut Vec<FieldError>) {
    let items = schema.at("items");
    let list = schema.text("x-kubernetes-list-type");
    if !items.is_object() || !matches!(list, "set" | "map") {
        return;
    }
    let at = at.child("items");
    if items.flag("nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list}");
        errors.push(FieldError::forbidden(&at.child("nullable"), &detail));
    }
    if list == "set" {
        return;
    }
    let at = at.child("properties");
    for key in schema.list("x-kubernetes-list-map-keys") {
        let name = key.as_str().unwrap_or_default();
        let Some(property) = items.at("properties").get(name) else {
            continue;
        };
        let at = at.key(name);
        if !items.list("required").contains(key) && !property.has("default") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(&at.child("default"), detail));
        }
        if property.flag("nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(&at.child("nullable"), detail));
        }
    }
}

/// The members of a rule, apart from whether its expressions compile.
fn rule_is_said(rule: &Value, schema: &Value, at: &Path<'_>, errors: &mut Vec<FieldError>) {
    const REASONS: [&str; 4] = [
        "FieldValueDuplicate",
        "FieldValueForbidden",
        "FieldValueInvalid",
        "FieldValueRequired",
    ];
    let broken = |text: &str| text.contains(['\n', '\r']);
    let (expression, message) = (rule.text("rule").trim(), rule.text("message"));
    let said = message.trim();
    let message_at = at.child("message");
    if expression.is_empty() {
        errors.push(FieldError::required(
            &at.child("rule"),
            "rule is not specified",
        ));
    } else if !message.is_empty() && said.is_empty() {
        let detail = "must be non-empty if specified";
        errors.push(FieldError::invalid(&message_at, message, detail));
    } else if broken(said) {
        let detail = "must not contain line breaks";
        errors.push(FieldError::invalid(&message_at, message, detail));
    } else if broken(expression) && said.is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(&message_at, detail));
    }
    let computed = rule.text("messageExpression");
    if !computed.is_empty() && computed.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(&at.child("messageExpression"), detail));
    }
    let reason = rule.text("reason");
    if rule.has("reason") && !REASONS.contains(&reason) {
        errors.push(FieldError::not_supported(
            &at.child("reason"),
            reason,
            &REASONS,
        ));
    }
    let path = rule.text("fieldPath");
    let path_at = at.child("fieldPath");
    if path.is_empty() {
        return;
    }
    if path.trim().is_empty() {
        let detail = "must be non-empty if specified";
        errors.push(FieldError::invalid(&path_at, path, detail));
    }
    if broken(path) {
        let detail = "must not contain line breaks";
        errors.push(FieldError::invalid(&path_at, path, detail));
    }
    if structure::unsupported(schema).is_none() && paths::read(path, schema).is_err() {
        errors.push(FieldError::invalid(&path_at, path, "must be a valid path"));
    }
}
