//! Events: those of the core group are checked little, those of events.k8s.io more (spec C.17).

use serde_json::Value;

use super::check::{Errors, qualified_name, required};
use crate::field::{FieldError, Path};
use crate::kinds::view::View;

/// A new event.
pub(super) fn create(group: &str, event: &Value, errors: &mut Errors) {
    legacy(group, event, errors);
    if group.is_empty() {
        return;
    }
    series(event, errors);
    let root = Path::root();
    required(event, &root, "eventTime", errors);
    let word = event.text("type");
    if !matches!(word, "Normal" | "Warning") {
        let detail = format!("has invalid value: {word}");
        errors.push(FieldError::invalid(&root.child("type"), "", &detail));
    }
    for (field, name) in [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("deprecatedSource", "source"),
    ] {
        if !is_unset(event.at(field)) {
            errors.push(FieldError::invalid(
                &root.child(name),
                "",
                "needs to be unset",
            ));
        }
    }
}

/// A changed event: by events.k8s.io hardly anything of it may change.
pub(super) fn update(group: &str, new: &Value, old: &Value, errors: &mut Errors) {
    legacy(group, new, errors);
    if group.is_empty() {
        return;
    }
    if new.at("series") != old.at("series") {
        series(new, errors);
    }
    for (field, name) in [
        ("regarding", "involvedObject"),
        ("reason", "reason"),
        ("note", "message"),
        ("deprecatedSource", "source"),
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        // The real server, too, asks twice.
        ("reason", "reason"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingController", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ] {
        let (now, before) = (new.at(field), old.at(field));
        if now != before && !(is_unset(now) && is_unset(before)) {
            let at = Path::new(name);
            errors.push(FieldError::invalid(&at, now.clone(), "field is immutable"));
        }
    }
}

/// Whether a value says nothing: Go's zero value, written or not.
fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Array(_) => false,
    }
}

/// What every event is held to. One without a time of its own is an old one, of which less is asked.
fn legacy(group: &str, event: &Value, errors: &mut Errors) {
    let (about, controller, note) = if group.is_empty() {
        ("involvedObject", "reportingComponent", "message")
    } else {
        ("regarding", "reportingController", "note")
    };
    let own = event.at("metadata").text("namespace");
    let namespace = event.at(about).text("namespace");
    let dated = event.has("eventTime");
    // Objects without a namespace have their events in `default`.
    let fits = match (namespace, dated) {
        ("", false) => own.is_empty() || own == "default",
        ("", true) => own == "default" || own == "kube-system",
        (namespace, false) => namespace == own,
        (_, true) => true,
    };
    if !fits {
        let detail = "does not match event.namespace";
        let at = Path::new("involvedObject.namespace");
        errors.push(FieldError::invalid(&at, namespace, detail));
    }
    if !dated {
        return;
    }
    let root = Path::root();
    required(event, &root, controller, errors);
    qualified_name(&root.child(controller), event.text(controller), errors);
    for field in ["reportingInstance", "action", "reason"] {
        required(event, &root, field, errors);
        if event.text(field).len() > 128 {
            let detail = "can have at most 128 characters";
            errors.push(FieldError::invalid(&root.child(field), "", detail));
        }
    }
    if event.text(note).len() > 1024 {
        let detail = "can have at most 1024 characters";
        errors.push(FieldError::invalid(&Path::new("message"), "", detail));
    }
}

fn series(event: &Value, errors: &mut Errors) {
    let series = event.at("series");
    if !series.is_object() {
        return;
    }
    if series.int("count").unwrap_or(0) < 2 {
        let at = Path::new("series.count");
        errors.push(FieldError::invalid(&at, "", "should be at least 2"));
    }
    if !series.has("lastObservedTime") {
        let at = Path::new("series.lastObservedTime");
        errors.push(FieldError::required(&at, ""));
    }
}
