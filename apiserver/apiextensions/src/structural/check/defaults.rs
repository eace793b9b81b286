//! Defaults must be what the schema allows, and have no fields that it would prune.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View};
use kubewright_cel::Budget;
use serde_json::{Map, Value};

use super::super::schema::Schema;
use super::super::values::{self, Taken};
use super::super::{metadata, prune, rules};

/// What is wrong with the defaults of a schema.
pub(super) fn check(schema: &Schema, at: &Path<'_>, errors: &mut Vec<FieldError>) {
    let mut checks = Checks {
        budget: rules::budget(),
        errors,
    };
    let around = Around {
        schema,
        outer: None,
        step: Step::Root,
    };
    checks.node(schema, at, &around, false);
}

/// Holds the metadata of objects inside of defaults to its type, which the real server does to what it checks.
pub fn settle(schema: &mut Value) {
    settle_node(schema, true, false);
}

fn settle_node(node: &mut Value, is_root: bool, inside_meta: bool) {
    let is_object = is_root || node.flag("x-kubernetes-embedded-resource");
    let inside_meta = inside_meta && !is_object;
    if !inside_meta && matches!(node.at("default"), Value::Object(_) | Value::Array(_)) {
        let mut settled = node.at("default").clone();
        let schema = Schema::read(node);
        let root = Path::root();
        if metadata::coerce(&mut settled, &schema, is_object, &root, &mut Vec::new()).is_ok() {
            node.put("default", settled);
        }
    }
    if let Some(items) = node.existing("items") {
        settle_node(items, false, inside_meta);
    }
    let properties = node.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        let is_meta = is_object && is_type_or_metadata(name);
        settle_node(property, false, inside_meta || is_meta);
    }
}

fn is_type_or_metadata(field: &str) -> bool {
    matches!(field, "metadata" | "apiVersion" | "kind")
}

struct Checks<'e> {
    /// What the rules on all defaults may cost together.
    budget: Budget,
    errors: &'e mut Vec<FieldError>,
}

/// The way from the object that a default is a part of.
struct Around<'a> {
    /// The schema of that object.
    schema: &'a Schema,
    outer: Option<&'a Self>,
    step: Step<'a>,
}

enum Step<'a> {
    Root,
    Field(&'a str),
    Item,
}

impl Checks<'_> {
    fn node(&mut self, schema: &Schema, at: &Path<'_>, around: &Around<'_>, inside_meta: bool) {
        let root = Around {
            schema,
            outer: None,
            step: Step::Root,
        };
        let (around, inside_meta) = if schema.embedded {
            (&root, false)
        } else {
            (around, inside_meta)
        };
        if let Some(default) = &schema.default {
            self.one(default, schema, &at.child("default"), around, inside_meta);
        }
        if let Some(items) = schema.items.as_deref() {
            let below = Around {
                schema: around.schema,
                outer: Some(around),
                step: Step::Item,
            };
            self.node(items, &at.child("items"), &below, inside_meta);
        }
        let is_object = schema.embedded || matches!(around.step, Step::Root);
        let at = at.child("properties");
        for (name, property) in &schema.properties {
            let below = Around {
                schema: around.schema,
                outer: Some(around),
                step: Step::Field(name),
            };
            let is_meta = is_object && is_type_or_metadata(name);
            self.node(property, &at.key(name), &below, inside_meta || is_meta);
        }
    }

    fn one(
        &mut self,
        default: &Value,
        schema: &Schema,
        at: &Path<'_>,
        around: &Around<'_>,
        inside_meta: bool,
    ) {
        let before = self.errors.len();
        if inside_meta {
            self.in_metadata(default, at, around);
        } else {
            let is_object = schema.embedded || matches!(around.step, Step::Root);
            let mut pruned = default.clone();
            prune::prune(&mut pruned, schema, is_object);
            if pruned != *default {
                let detail = "must not have unknown fields";
                self.errors
                    .push(FieldError::invalid(at, default.clone(), detail));
            }
            let mut coerced = default.clone();
            let mut unknown = Vec::new();
            let start = self.errors.len();
            if let Err(error) = metadata::coerce(&mut coerced, schema, is_object, at, &mut unknown)
            {
                self.errors.push(error);
            } else {
                metadata::validate(&coerced, schema, is_object, at, self.errors);
            }
            if self.errors.len() > start {
                return;
            }
        }
        if inside_meta && self.errors.len() > before {
            return;
        }
        let start = self.errors.len();
        let found = values::check(default, schema, Taken::AsWritten, None);
        self.errors.extend(found.errors(at));
        if self.errors.len() == start {
            rules::run_on_default(schema, default, at, &mut self.budget, self.errors);
        }
    }

    /// Checks a default inside the metadata of an object: the object that it yields must have valid metadata.
    fn in_metadata(&mut self, default: &Value, at: &Path<'_>, around: &Around<'_>) {
        let mut object = around.object(default.clone());
        let mut unknown = Vec::new();
        let root = Path::root();
        let mut found = Vec::new();
        match metadata::coerce(&mut object, around.schema, true, &root, &mut unknown) {
            Err(error) => found.push(error),
            Ok(()) => metadata::validate(&object, around.schema, true, &root, &mut found),
        }
        let mut messages: Vec<String> = Vec::new();
        for error in found {
            let message = error.to_string();
            if !messages.contains(&message) {
                messages.push(message);
            }
        }
        let reason = match messages.as_slice() {
            [] => return,
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let detail = format!("must result in valid metadata: {reason}");
        self.errors
            .push(FieldError::invalid(at, default.clone(), &detail));
    }
}

impl Around<'_> {
    /// The smallest object that has `value` at this position.
    fn object(&self, value: Value) -> Value {
        let wrapped = match self.step {
            Step::Root => {
                let mut object = value;
                if let Value::Object(members) = &mut object {
                    for (field, value) in [("kind", "Validation"), ("apiVersion", "validation/v1")]
                    {
                        members.entry(field).or_insert_with(|| value.into());
                    }
                }
                return object;
            }
            Step::Field(name) => Value::Object(Map::from_iter([(name.to_owned(), value)])),
            Step::Item => Value::Array(vec![value]),
        };
        match self.outer {
            Some(outer) => outer.object(wrapped),
            None => wrapped,
        }
    }
}
