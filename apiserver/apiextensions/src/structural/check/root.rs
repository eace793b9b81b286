//! What the root of a schema may not say.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

/// What may stand at the root of a schema whose status is a part of its own, in the order of Go's struct: JSON name, Go's name.
const ALLOWED: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    (
        "x-kubernetes-preserve-unknown-fields",
        "XPreserveUnknownFields",
    ),
    ("x-kubernetes-validations", "XValidations"),
];

/// Fields that stand before `type` in Go's struct, which is looked through in that order.
const BEFORE_TYPE: [&str; 3] = ["id", "$schema", "$ref"];

pub(super) fn check(schema: &Value, at: &Path<'_>, status: bool, errors: &mut Vec<FieldError>) {
    if status {
        with_status(schema, at, errors);
    }
    if schema.flag("nullable") {
        let detail = "nullable cannot be true at the root";
        errors.push(FieldError::forbidden(&at.child("nullable"), detail));
    }
}

fn with_status(schema: &Value, at: &Path<'_>, errors: &mut Vec<FieldError>) {
    let Value::Object(members) = schema else {
        return;
    };
    let set = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    };
    // A default is there however little it says.
    let set = |name: &str, value: &Value| set(value) || name == "default" && !value.is_null();
    let allowed = |name: &str| ALLOWED.iter().any(|(known, _)| *known == name);
    let mut refused = members
        .iter()
        .filter(|(name, value)| !allowed(name) && set(name, value))
        .map(|(name, _)| name.as_str());
    let kind = schema.text("type");
    let first_refused = BEFORE_TYPE
        .iter()
        .find(|name| set(name, schema.at(name)))
        .is_some();
    if !first_refused && !kind.is_empty() && kind != "object" {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        errors.push(FieldError::invalid(&at.child("type"), kind, detail));
    } else if refused.next().is_some() {
        let names: Vec<&str> = ALLOWED.iter().map(|(_, name)| *name).collect();
        let detail = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            names.join(" ")
        );
        errors.push(FieldError::invalid_shown(
            at,
            &super::shown::schema(schema),
            &detail,
        ));
    }
}
