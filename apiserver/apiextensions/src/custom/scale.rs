//! The scale of a custom object: replicas and a selector at paths that its definition names.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::{GoText, go_type};
use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Map, Value, json};

use super::definition::Scale;
use crate::structural::Change;

/// Reads the Scale of an object, and whether the object says how many replicas it wants.
///
/// # Errors
/// A member on a path that is of another type.
pub fn read(paths: &Scale, object: &Value) -> Result<(Value, bool), String> {
    let wanted = number(object, &paths.spec_replicas)?;
    let metadata = object.at("metadata");
    let mut kept = Map::new();
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if metadata.has(field) {
            kept.insert(field.to_owned(), metadata.at(field).clone());
        }
    }
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": kept,
        "spec": {},
        "status": { "replicas": number(object, &paths.status_replicas)?.unwrap_or(0) },
    });
    if let Some(replicas) = wanted.filter(|replicas| *replicas != 0) {
        scale["spec"].put("replicas", replicas);
    }
    if let Some(path) = &paths.selector {
        let selector = text(object, path)?;
        if !selector.is_empty() {
            scale["status"].put("selector", selector);
        }
    }
    Ok((scale, wanted.is_some()))
}

/// Takes the replicas of a Scale into its object.
pub fn write(paths: &Scale, object: &mut Value, scale: &Value) {
    let replicas = scale.at("spec").int("replicas").unwrap_or(0);
    let words: Vec<&str> = words(&paths.spec_replicas).collect();
    let Some((last, parents)) = words.split_last() else {
        return;
    };
    let mut here = object;
    for word in parents {
        match here.part(word) {
            Some(below) => here = below,
            None => return,
        }
    }
    here.put(last, replicas);
}

/// Checks the members of the scale; those of the spec unless only the status was sent.
pub(super) fn check(paths: &Scale, change: Change<'_>, errors: &mut Vec<FieldError>) {
    let object = change.new;
    if !change.status {
        errors.extend(check_replicas(object, &paths.spec_replicas));
    }
    errors.extend(check_replicas(object, &paths.status_replicas));
    if let Some(path) = &paths.selector
        && let Err(why) = text(object, path)
    {
        errors.push(FieldError::invalid(&Path::new(path), "", &why));
    }
}

/// Replicas are a number that a Scale can hold.
fn check_replicas(object: &Value, path: &str) -> Option<FieldError> {
    let at = Path::new(path);
    match number(object, path) {
        Err(why) => Some(FieldError::invalid(&at, 0, &why)),
        Ok(Some(replicas)) if replicas < 0 => {
            let detail = "should be a non-negative integer";
            Some(FieldError::invalid(&at, replicas, detail))
        }
        Ok(Some(replicas)) if replicas > i64::from(i32::MAX) => {
            let detail = format!("should be less than or equal to {}", i32::MAX);
            Some(FieldError::invalid(&at, replicas, &detail))
        }
        Ok(_) => None,
    }
}

fn words(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('.').unwrap_or(path).split('.')
}

fn number(object: &Value, path: &str) -> Result<Option<i64>, String> {
    match at(object, path)? {
        None => Ok(None),
        Some(value) => value
            .as_i64()
            .map(Some)
            .ok_or_else(|| wrong_type(path, value, "int64")),
    }
}

fn text<'a>(object: &'a Value, path: &str) -> Result<&'a str, String> {
    match at(object, path)? {
        None => Ok(""),
        Some(value) => value
            .as_str()
            .ok_or_else(|| wrong_type(path, value, "string")),
    }
}

/// The value at a path; none where it is not there.
fn at<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut here = object;
    let mut passed = String::new();
    for word in words(path) {
        if here.is_null() {
            return Ok(None);
        }
        passed.push('.');
        passed.push_str(word);
        let Value::Object(members) = here else {
            return Err(wrong_type(&passed, here, "map[string]interface{}"));
        };
        match members.get(word) {
            Some(value) => here = value,
            None => return Ok(None),
        }
    }
    Ok(Some(here))
}

fn wrong_type(path: &str, value: &Value, wanted: &str) -> String {
    let (shown, found) = (GoText(value), go_type(value));
    format!("{path} accessor error: {shown} is of the type {found}, expected {wanted}")
}
