//! Parsed schemas with compiled patterns.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_apimachinery::view::View;
use kubewright_cel::PatternError;
use serde_json::Value;

use super::rule::Rules;

/// Maximum nesting depth of a schema. Request bodies are not parsed deeper than this, but patches can make deeper objects.
const MAX_DEPTH: usize = 128;

/// One node of a schema, or of a condition in its `allOf`, `anyOf`, `oneOf` or `not`.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the markers of the API")]
pub(super) struct Schema {
    /// Empty where the schema does not say it.
    pub(super) kind: String,
    pub(super) nullable: bool,
    pub(super) default: Option<Value>,
    /// Empty where the schema does not say it.
    pub(super) format: String,
    pub(super) preserve_unknown: bool,
    pub(super) embedded: bool,
    pub(super) int_or_string: bool,
    /// Whether its fields are owned together.
    pub(super) atomic_map: bool,
    pub(super) list: ListType,
    pub(super) items: Option<Box<Self>>,
    pub(super) properties: BTreeMap<String, Self>,
    pub(super) additional: Additional,
    pub(super) required: Vec<String>,
    pub(super) choices: Vec<Value>,
    pub(super) limits: Limits,
    pub(super) all_of: Vec<Self>,
    pub(super) any_of: Vec<Self>,
    pub(super) one_of: Vec<Self>,
    pub(super) not: Option<Box<Self>>,
    pub(super) rules: Rules,
}

/// `additionalProperties` of a schema.
#[derive(Debug, Default)]
pub(super) enum Additional {
    #[default]
    Unsaid,
    Allowed(bool),
    Schema(Box<Schema>),
}

/// `x-kubernetes-list-type`, with its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum ListType {
    #[default]
    Atomic,
    Set,
    Map(Arc<[String]>),
    /// None that is known: such a definition is refused.
    Unknown(Arc<str>),
}

/// The bounds of a value.
#[derive(Debug, Default)]
pub(super) struct Limits {
    pub(super) maximum: Option<Bound>,
    pub(super) minimum: Option<Bound>,
    pub(super) multiple_of: Option<f64>,
    pub(super) max_length: Option<i64>,
    pub(super) min_length: Option<i64>,
    pub(super) pattern: Option<Pattern>,
    pub(super) max_items: Option<i64>,
    pub(super) min_items: Option<i64>,
    /// No schema that is accepted has it; the defaults of those that are refused are checked, too.
    pub(super) unique_items: bool,
    pub(super) max_properties: Option<i64>,
    pub(super) min_properties: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) at: f64,
    pub(super) exclusive: bool,
}

/// A pattern, and what it compiled to.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) compiled: Result<kubewright_cel::Pattern, PatternError>,
}

impl Schema {
    /// Reads a schema from its JSON form in the API.
    pub(super) fn read(schema: &Value) -> Self {
        Self::at_depth(schema, 0)
    }

    fn at_depth(schema: &Value, depth: usize) -> Self {
        if depth > MAX_DEPTH {
            return Self {
                preserve_unknown: true,
                ..Self::default()
            };
        }
        let below = |schema: &Value| Self::at_depth(schema, depth + 1);
        let all = |field: &str| schema.list(field).iter().map(below).collect();
        let one = |field: &str| {
            let found = schema.at(field);
            found.is_object().then(|| Box::new(below(found)))
        };
        Self {
            kind: schema.text("type").to_owned(),
            nullable: schema.flag("nullable"),
            default: some(schema.at("default")),
            format: schema.text("format").to_owned(),
            preserve_unknown: schema.flag("x-kubernetes-preserve-unknown-fields"),
            embedded: schema.flag("x-kubernetes-embedded-resource"),
            int_or_string: schema.flag("x-kubernetes-int-or-string"),
            atomic_map: schema.text("x-kubernetes-map-type") == "atomic",
            list: ListType::read(schema),
            items: one("items"),
            properties: schema
                .entries("properties")
                .map(|(name, property)| (name.to_owned(), below(property)))
                .collect(),
            additional: match schema.at("additionalProperties") {
                Value::Bool(allowed) => Additional::Allowed(*allowed),
                found @ Value::Object(_) => Additional::Schema(Box::new(below(found))),
                _ => Additional::Unsaid,
            },
            required: strings(schema.list("required")),
            choices: schema.list("enum").to_vec(),
            limits: Limits::read(schema),
            all_of: all("allOf"),
            any_of: all("anyOf"),
            one_of: all("oneOf"),
            not: one("not"),
            rules: Rules::read(schema),
        }
    }

    /// The schema of the field or entry `name`, if there is one.
    pub(super) fn child(&self, name: &str) -> Option<&Self> {
        self.properties
            .get(name)
            .or_else(|| self.additional.schema())
    }

    /// Whether the default replaces a null at this position.
    pub(super) fn replaces_null(&self) -> bool {
        !self.nullable && self.default.is_some()
    }

    /// The schemas of the fields, entries and items.
    pub(super) fn parts_mut(&mut self) -> impl Iterator<Item = &mut Self> {
        let additional = match &mut self.additional {
            Additional::Schema(schema) => Some(&mut **schema),
            _ => None,
        };
        self.properties
            .values_mut()
            .chain(self.items.as_deref_mut())
            .chain(additional)
    }
}

impl Additional {
    pub(super) fn schema(&self) -> Option<&Schema> {
        match self {
            Self::Schema(schema) => Some(schema),
            _ => None,
        }
    }
}

impl ListType {
    fn read(schema: &Value) -> Self {
        match schema.text("x-kubernetes-list-type") {
            "set" => Self::Set,
            "map" => Self::Map(strings(schema.list("x-kubernetes-list-map-keys")).into()),
            "" | "atomic" => Self::Atomic,
            unknown => Self::Unknown(unknown.into()),
        }
    }
}

impl Limits {
    fn read(schema: &Value) -> Self {
        let number = |field: &str| schema.at(field).as_f64();
        let whole = |field: &str| schema.int(field);
        let bound = |field: &str, exclusive: &str| {
            number(field).map(|at| Bound {
                at,
                exclusive: schema.flag(exclusive),
            })
        };
        Self {
            maximum: bound("maximum", "exclusiveMaximum"),
            minimum: bound("minimum", "exclusiveMinimum"),
            multiple_of: number("multipleOf"),
            max_length: whole("maxLength"),
            min_length: whole("minLength"),
            pattern: Pattern::read(schema.text("pattern")),
            max_items: whole("maxItems"),
            min_items: whole("minItems"),
            unique_items: schema.flag("uniqueItems"),
            max_properties: whole("maxProperties"),
            min_properties: whole("minProperties"),
        }
    }
}

impl Pattern {
    pub(super) fn read(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self {
            text: text.to_owned(),
            compiled: kubewright_cel::Pattern::compile(text),
        })
    }
}

fn some(value: &Value) -> Option<Value> {
    (!value.is_null()).then(|| value.clone())
}

fn strings(values: &[Value]) -> Vec<String> {
    let strings = values.iter().filter_map(Value::as_str);
    strings.map(str::to_owned).collect()
}
