//! Schemas as error messages quote them: Go's names and order, no field left out.

use kubewright_apimachinery::go_text::html_escaped;
use kubewright_apimachinery::view::View;
use kubewright_validation::internal::shown;
use serde_json::Value;

/// What a member of Go's struct is.
#[derive(Clone, Copy)]
enum Member {
    /// A type of the table of internal types: `s`, `?i`, `[]s`.
    Plain(&'static str),
    /// Any JSON.
    Any,
    Schema,
    List,
    Map,
    OrList,
    OrBool,
    OrNames,
}

const MEMBERS: [(&str, &str, Member); 44] = [
    ("id", "ID", Member::Plain("s")),
    ("$schema", "Schema", Member::Plain("s")),
    ("$ref", "Ref", Member::Plain("?s")),
    ("description", "Description", Member::Plain("s")),
    ("type", "Type", Member::Plain("s")),
    ("nullable", "Nullable", Member::Plain("b")),
    ("format", "Format", Member::Plain("s")),
    ("title", "Title", Member::Plain("s")),
    ("default", "Default", Member::Any),
    ("maximum", "Maximum", Member::Any),
    ("exclusiveMaximum", "ExclusiveMaximum", Member::Plain("b")),
    ("minimum", "Minimum", Member::Any),
    ("exclusiveMinimum", "ExclusiveMinimum", Member::Plain("b")),
    ("maxLength", "MaxLength", Member::Any),
    ("minLength", "MinLength", Member::Any),
    ("pattern", "Pattern", Member::Plain("s")),
    ("maxItems", "MaxItems", Member::Any),
    ("minItems", "MinItems", Member::Any),
    ("uniqueItems", "UniqueItems", Member::Plain("b")),
    ("multipleOf", "MultipleOf", Member::Any),
    ("enum", "Enum", Member::Any),
    ("maxProperties", "MaxProperties", Member::Any),
    ("minProperties", "MinProperties", Member::Any),
    ("required", "Required", Member::Plain("[]s")),
    ("items", "Items", Member::OrList),
    ("allOf", "AllOf", Member::List),
    ("oneOf", "OneOf", Member::List),
    ("anyOf", "AnyOf", Member::List),
    ("not", "Not", Member::Schema),
    ("properties", "Properties", Member::Map),
    (
        "additionalProperties",
        "AdditionalProperties",
        Member::OrBool,
    ),
    ("patternProperties", "PatternProperties", Member::Map),
    ("dependencies", "Dependencies", Member::OrNames),
    ("additionalItems", "AdditionalItems", Member::OrBool),
    ("definitions", "Definitions", Member::Map),
    (
        "externalDocs",
        "ExternalDocs",
        Member::Plain("?ExternalDocumentation"),
    ),
    ("example", "Example", Member::Any),
    (
        "x-kubernetes-preserve-unknown-fields",
        "XPreserveUnknownFields",
        Member::Any,
    ),
    (
        "x-kubernetes-embedded-resource",
        "XEmbeddedResource",
        Member::Plain("b"),
    ),
    (
        "x-kubernetes-int-or-string",
        "XIntOrString",
        Member::Plain("b"),
    ),
    (
        "x-kubernetes-list-map-keys",
        "XListMapKeys",
        Member::Plain("[]s"),
    ),
    ("x-kubernetes-list-type", "XListType", Member::Plain("?s")),
    ("x-kubernetes-map-type", "XMapType", Member::Plain("?s")),
    (
        "x-kubernetes-validations",
        "XValidations",
        Member::Plain("[]ValidationRule"),
    ),
];

/// A schema.
pub fn schema(schema: &Value) -> String {
    if !schema.is_object() {
        return "null".to_owned();
    }
    let members = MEMBERS.iter().map(|(name, shown, member)| {
        let value = member.shown(schema.at(name));
        format!("\"{shown}\":{value}")
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// A schema or a list of them.
pub(super) fn items(value: &Value) -> String {
    Member::OrList.shown(value)
}

/// A rule.
pub(super) fn rule(value: &Value) -> String {
    shown("ValidationRule", value)
}

impl Member {
    fn shown(self, value: &Value) -> String {
        let list = |values: &[Value]| {
            let shown: Vec<String> = values.iter().map(schema).collect();
            format!("[{}]", shown.join(","))
        };
        match (self, value) {
            (Self::Plain(kind), value) => shown(kind, value),
            (Self::Any, value) => html_escaped(value.to_string()),
            (_, Value::Null) => "null".to_owned(),
            (Self::Schema, value) => schema(value),
            (Self::List, value) => list(value.as_array().map_or(&[], Vec::as_slice)),
            (Self::OrList, Value::Array(several)) => {
                format!("{{\"Schema\":null,\"JSONSchemas\":{}}}", list(several))
            }
            (Self::OrList, one) => {
                format!("{{\"Schema\":{},\"JSONSchemas\":null}}", schema(one))
            }
            (Self::OrBool, Value::Bool(allowed)) => {
                format!("{{\"Allows\":{allowed},\"Schema\":null}}")
            }
            (Self::OrBool, one) => format!("{{\"Allows\":true,\"Schema\":{}}}", schema(one)),
            (Self::Map | Self::OrNames, value) => {
                let entry = |(name, value): (&String, &Value)| {
                    let value = match (self, value) {
                        (Self::OrNames, Value::Array(_)) => {
                            format!("{{\"Schema\":null,\"Property\":{value}}}")
                        }
                        (Self::OrNames, one) => {
                            format!("{{\"Schema\":{},\"Property\":null}}", schema(one))
                        }
                        (_, one) => schema(one),
                    };
                    format!("{}:{value}", Value::from(name.as_str()))
                };
                let entries = value.as_object().into_iter().flatten().map(entry);
                format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
            }
        }
    }
}
