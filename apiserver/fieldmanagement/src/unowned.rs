//! Merging without a manager: what a mutating policy applies.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};

use kubewright_apimachinery::go_text::GoText;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::patch::json::escape;
use kubewright_registry::Registry;
use serde_json::Value;

use super::check::{self, Duplicates, check};
use super::element::Element;
use super::merge::merge;
use super::shape::{Atom, Items, Scalar, Shape};
use super::track::shown;

/// Merges the configuration of a mutating policy into an object. No manager owns what it sets. At the JSON pointers in `unconverted`
/// stand values of the language still, which are of no field's type; other nulls are nothing, which fits every field.
///
/// # Errors
/// The kind has no schema, the configuration does not match it, or it sets a list, map or struct that can only be replaced as a
/// whole.
pub fn merge_unowned(
    registry: &Registry,
    kind: &GroupVersionKind,
    object: &Value,
    configuration: &Value,
    unconverted: &BTreeSet<String>,
) -> Result<Value, String> {
    let failed = |why: String| format!("failed to convert patch object to typed object: {why}");
    // Only what discovery shows has a schema there: no Scale, and no options of a connection.
    let served = registry.find_kind(kind).is_some();
    let shape = Shape::of_kind(registry, kind).filter(|_| served);
    let shape =
        shape.ok_or_else(|| failed(format!("no corresponding type for {}", shown(kind))))?;
    let mut configuration = Cow::Borrowed(configuration);
    let mut problems = problems_of_values(shape, &mut configuration, unconverted);
    check::find(shape, &configuration, Duplicates::Refused, &mut problems);
    check::told(&problems).map_err(failed)?;
    let configuration = &*configuration;
    let mut atomics = Vec::new();
    find_atomics(shape, configuration, &mut String::new(), &mut atomics);
    if !atomics.is_empty() {
        let atomics = atomics.join(", ");
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {atomics}"
        ));
    }
    check(shape, object, Duplicates::Allowed)
        .map_err(|why| format!("failed to convert original object to typed object: {why}"))?;
    merge(shape, object, configuration).map_err(|why| format!("failed to merge patch: {why}"))
}

/// Why no field can be set to the values of the language in a configuration; takes them out of it.
fn problems_of_values(
    shape: Shape<'_>,
    configuration: &mut Cow<'_, Value>,
    unconverted: &BTreeSet<String>,
) -> Vec<String> {
    if unconverted.is_empty() {
        return Vec::new();
    }
    let mut values = Values {
        unconverted,
        path: String::new(),
        place: String::new(),
        problems: Vec::new(),
        refused: Vec::new(),
    };
    values.find(shape, configuration);
    for place in values.refused {
        if let Some(value) = configuration.to_mut().pointer_mut(&place) {
            *value = Value::Null;
        }
    }
    values.problems
}

struct Values<'a> {
    unconverted: &'a BTreeSet<String>,
    /// Where the walk is, as messages show it.
    path: String,
    /// Where it is, as a JSON pointer.
    place: String,
    problems: Vec<String>,
    /// The places of what fits no field.
    refused: Vec<String>,
}

impl Values<'_> {
    fn find(&mut self, shape: Shape<'_>, value: &Value) {
        if self.unconverted.contains(&self.place) {
            if let Some(why) = no_fit(shape, value) {
                self.problems.push(format!("{}: {why}", self.path));
                self.refused.push(self.place.clone());
            }
            return;
        }
        match (shape.atom(Some(value)), value) {
            (Atom::Map(members), Value::Object(map)) => {
                for (name, value) in map {
                    if let Some((shape, _)) = members.get(name) {
                        self.below(&format_args!(".{name}"), &escape(name), shape, value);
                    }
                }
            }
            (Atom::List(list), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    let token = index.to_string();
                    let element = match list.items {
                        Items::Atomic => format!("[{index}]"),
                        _ => match list.element(item) {
                            Ok(element) => self.shown(&element, &token),
                            // Validation says why.
                            Err(_) => continue,
                        },
                    };
                    self.below(&element, &token, list.item(), item);
                }
            }
            _ => {}
        }
    }

    /// An item in messages; the library has no text for a key of the language's own type.
    fn shown(&self, item: &Element, token: &str) -> String {
        let mut text = item.to_string();
        if let Element::Key(fields) = item {
            for (name, value) in fields {
                let place = format!("{}/{token}/{name}", self.place);
                if self.unconverted.contains(&place) {
                    let (known, unknown) = (
                        format!("{name}={value}"),
                        format!("{name}={{{{undefined}}}}"),
                    );
                    text = text.replace(&known, &unknown);
                }
            }
        }
        text
    }

    fn below(&mut self, step: &dyn Display, token: &str, shape: Shape<'_>, value: &Value) {
        let (length, depth) = (self.path.len(), self.place.len());
        let _ = write!(self.path, "{step}");
        let _ = write!(self.place, "/{token}");
        self.find(shape, value);
        self.path.truncate(length);
        self.place.truncate(depth);
    }
}

/// Why a value of the language fits no field of a shape, if that is so whatever its type is. A number is an unsigned one.
fn no_fit(shape: Shape<'_>, value: &Value) -> Option<String> {
    let atom = shape.atom(Some(value).filter(|value| value.is_null()));
    let wanted = match atom {
        Atom::Scalar(Scalar::Text) => "string",
        Atom::Scalar(Scalar::Number) => "numeric (int or float)",
        Atom::Scalar(Scalar::Bool) => "boolean",
        Atom::Scalar(Scalar::Any) => "any scalar",
        Atom::List(_) => "list",
        Atom::Map(_) => "map",
    };
    let found = match (atom, value) {
        (Atom::Scalar(Scalar::Any), Value::Null)
        | (
            Atom::Scalar(Scalar::Text | Scalar::Number | Scalar::Bool),
            Value::Array(_) | Value::Object(_),
        ) => return None,
        (Atom::Scalar(Scalar::Text), Value::Null) => "&value.valueUnstructured{Value:0}".to_owned(),
        (Atom::Scalar(Scalar::Number), Value::Null) => "structpb.NullValue".to_owned(),
        (_, Value::Null) => "&{NULL_VALUE}".to_owned(),
        (Atom::Scalar(Scalar::Text), _) => {
            let number = value.as_u64().unwrap_or_default();
            format!("&value.valueUnstructured{{Value:{number:#x}}}")
        }
        (Atom::Scalar(Scalar::Number), _) => "uint64".to_owned(),
        _ => format!("&{{{}}}", GoText(value)),
    };
    Some(format!("expected {wanted}, got {found}"))
}

/// The paths of what can only be replaced as a whole.
fn find_atomics(shape: Shape<'_>, value: &Value, path: &mut String, found: &mut Vec<String>) {
    let length = path.len();
    match (shape.atom(Some(value)), value) {
        (Atom::Map(members), Value::Object(map)) => {
            if members.atomic {
                found.push(path.clone());
            }
            for (name, value) in map {
                // The entries of a map are not looked at.
                if let Some((shape, true)) = members.get(name) {
                    let _ = write!(path, ".{name}");
                    find_atomics(shape, value, path, found);
                    path.truncate(length);
                }
            }
        }
        (Atom::List(list), Value::Array(items)) => {
            if matches!(list.items, Items::Atomic) {
                found.push(path.clone());
            }
            for (index, item) in items.iter().enumerate() {
                let _ = write!(path, "[{index}]");
                find_atomics(list.item(), item, path, found);
                path.truncate(length);
            }
        }
        _ => {}
    }
}
