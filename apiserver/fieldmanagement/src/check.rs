//! Validation of an object against its schema, with the messages of the library that the real server uses.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use kubewright_apimachinery::go_text::{GoText, quoted};
use serde_json::Value;

use super::element::Element;
use super::shape::{Atom, Items, Scalar, Shape};

/// Whether a list may have duplicate items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duplicates {
    /// For stored objects.
    Allowed,
    /// For applied configurations.
    Refused,
}

/// Validates an object against the schema of its kind.
///
/// # Errors
/// Values do not match the schema. The message lists each with its path.
pub(super) fn check(shape: Shape<'_>, value: &Value, duplicates: Duplicates) -> Result<(), String> {
    let mut problems = Vec::new();
    find(shape, value, duplicates, &mut problems);
    told(&problems)
}

/// Adds what does not match the schema.
pub(super) fn find(
    shape: Shape<'_>,
    value: &Value,
    duplicates: Duplicates,
    problems: &mut Vec<String>,
) {
    walk(shape, value, duplicates, &mut String::new(), problems);
}

/// The message that lists the problems.
pub(super) fn told(problems: &[String]) -> Result<(), String> {
    match problems {
        [] => Ok(()),
        [problem] => Err(problem.clone()),
        problems => Err(format!("errors:\n  {}", problems.join("\n  "))),
    }
}

fn walk(
    shape: Shape<'_>,
    value: &Value,
    duplicates: Duplicates,
    place: &mut String,
    problems: &mut Vec<String>,
) {
    let length = place.len();
    match (shape.atom(Some(value)), value) {
        (_, Value::Null) => {}
        (Atom::Scalar(scalar), _) => {
            if let Some(why) = wrong_scalar(scalar, value) {
                problems.push(at(place, &why));
            }
        }
        (Atom::List(list), Value::Array(items)) => {
            let mut seen = BTreeSet::new();
            for (index, item) in items.iter().enumerate() {
                let element = match list.items {
                    Items::Atomic => Ok(Element::Index(i64::try_from(index).unwrap_or(i64::MAX))),
                    _ => list.element(item),
                };
                match element {
                    Err(why) => {
                        problems.push(at(place, &format!("element {index}: {why}")));
                        // What is below cannot be named.
                        return;
                    }
                    Ok(element) => {
                        let counts = duplicates == Duplicates::Refused
                            && !matches!(list.items, Items::Atomic);
                        if counts && !seen.insert(element.clone()) {
                            problems
                                .push(at(place, &format!("duplicate entries for key {element}")));
                        }
                        let _ = write!(place, "{element}");
                        walk(list.item(), item, duplicates, place, problems);
                        place.truncate(length);
                    }
                }
            }
        }
        (Atom::Map(members), Value::Object(of)) => {
            for (name, value) in of {
                let _ = write!(place, ".{name}");
                let known = members.get(name);
                match known {
                    Some((shape, _)) => walk(shape, value, duplicates, place, problems),
                    None => problems.push(at(place, "field not declared in schema")),
                }
                place.truncate(length);
                if known.is_none() {
                    // The library reads no further in this map.
                    return;
                }
            }
        }
        (Atom::List(_), other) => {
            problems.push(at(
                place,
                &format!("expected list, got &{{{}}}", GoText(other)),
            ));
        }
        (Atom::Map(_), other) => {
            problems.push(at(
                place,
                &format!("expected map, got &{{{}}}", GoText(other)),
            ));
        }
    }
}

fn at(place: &str, why: &str) -> String {
    if place.is_empty() {
        why.to_owned()
    } else {
        format!("{place}: {why}")
    }
}

fn wrong_scalar(scalar: Scalar, value: &Value) -> Option<String> {
    match (scalar, value) {
        (_, Value::Null)
        | (Scalar::Number, Value::Number(_))
        | (Scalar::Text, Value::String(_))
        | (Scalar::Bool, Value::Bool(_))
        | (Scalar::Any, Value::Number(_) | Value::String(_) | Value::Bool(_)) => None,
        (Scalar::Number, other) => {
            let found = match other {
                Value::Bool(_) => "bool",
                Value::String(_) => "string",
                Value::Array(_) => "[]interface {}",
                _ => "map[string]interface {}",
            };
            Some(format!("expected numeric (int or float), got {found}"))
        }
        (Scalar::Text, other) => Some(format!(
            "expected string, got &value.valueUnstructured{{Value:{}}}",
            syntax(other)
        )),
        (Scalar::Bool, other) => Some(format!("expected boolean, got &{{{}}}", GoText(other))),
        (Scalar::Any, other) => Some(format!("expected any scalar, got &{{{}}}", GoText(other))),
    }
}

/// A value as Go source.
fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|(name, value)| format!("{}:{}", quoted(name), syntax(value)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", members.join(", "))
        }
    }
}
