//! Events: those of the core group are checked little, those of events.k8s.io more.

use kubewright_apimachinery::conform::{Medium, write_empties};
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use kubewright_validation::check::{Errors, immutable, problems, qualified_name, required};
use kubewright_validation::internal;
use kubewright_validation::metadata;

pub(super) fn create(is_core: bool, object: &Value, errors: &mut Errors) {
    let form = Form::of(is_core);
    always(form, object, errors);
    if form.core {
        if errors.is_empty() {
            rules(is_core).create(object, errors);
        }
        return;
    }
    rules(is_core).create(object, errors);
    series(object, errors);
    let root = Path::root();
    if !object.has("eventTime") {
        errors.push(FieldError::required(&root.child("eventTime"), ""));
    }
    let kind = object.text("type");
    if !matches!(kind, "Normal" | "Warning") {
        let detail = format!("has invalid value: {kind}");
        errors.push(FieldError::invalid(&root.child("type"), "", &detail));
    }
    let source = object.at("deprecatedSource");
    let component = [source.text("component"), source.text("host")];
    for (field, set) in [
        ("firstTimestamp", object.has("deprecatedFirstTimestamp")),
        ("lastTimestamp", object.has("deprecatedLastTimestamp")),
        ("count", object.int("deprecatedCount").unwrap_or(0) != 0),
        ("source", component.iter().any(|text| !text.is_empty())),
    ] {
        if set {
            errors.push(FieldError::invalid(
                &root.child(field),
                "",
                "needs to be unset",
            ));
        }
    }
}

pub(super) fn update(is_core: bool, new: &Value, old: &Value, errors: &mut Errors) {
    let form = Form::of(is_core);
    always(form, new, errors);
    if form.core {
        return;
    }
    metadata::older_changed(new, old, errors);
    if new.at("series") != old.at("series") {
        series(new, errors);
    }
    // Only here the zero time is none, however it came.
    let kind = GroupVersionKind::from_api_version_and_kind("events.k8s.io/v1", "Event");
    let mut new = new.clone();
    write_empties(&kind, &mut new, Medium::Json);
    // The names are those of the core group, whatever the request says.
    for (field, shown) in [
        ("regarding", "involvedObject"),
        ("reason", "reason"),
        ("note", "message"),
        ("deprecatedSource", "source"),
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("reason", "reason"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingController", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ] {
        let mut found = Vec::new();
        immutable(&new, old, &Path::root(), field, &mut found);
        // What else an event is about is a pointer: an empty reference is not none.
        let appeared = field == "related" && new.has(field) != old.has(field);
        if appeared || !found.is_empty() {
            let (path, value) = (Path::new(shown), new.at(field));
            let kind = match field {
                "regarding" => "ObjectReference",
                "related" => "?ObjectReference",
                "deprecatedSource" => "EventSource",
                "deprecatedFirstTimestamp" | "deprecatedLastTimestamp" => "t",
                "eventTime" => "T",
                "deprecatedCount" => "i",
                _ => "s",
            };
            let detail = kubewright_validation::check::IMMUTABLE;
            let value = internal::shown(kind, value);
            errors.push(FieldError::invalid_shown(&path, &value, detail));
        }
    }
}

/// The names that the two groups have for the same fields.
#[derive(Clone, Copy)]
struct Form {
    core: bool,
    about: &'static str,
    controller: &'static str,
    note: &'static str,
}

impl Form {
    fn of(is_core: bool) -> Self {
        let core = is_core;
        let (about, controller, note) = if core {
            ("involvedObject", "reportingComponent", "message")
        } else {
            ("regarding", "reportingController", "note")
        };
        Self {
            core,
            about,
            controller,
            note,
        }
    }
}

/// What holds for events of both groups.
fn always(form: Form, object: &Value, errors: &mut Errors) {
    let own = object.at("metadata").text("namespace");
    let about = object.at(form.about).text("namespace");
    let timed = object.has("eventTime");
    // Objects without a namespace have their events in `default`.
    let fits = match (about, timed) {
        ("", false) => matches!(own, "" | "default"),
        ("", true) => matches!(own, "default" | "kube-system"),
        (_, timed) => timed || about == own,
    };
    if !fits {
        let detail = "does not match event.namespace";
        let at = Path::new("involvedObject.namespace");
        errors.push(FieldError::invalid(&at, about, detail));
    }
    if timed {
        reported(form, object, errors);
    }
    let found = names::dns1123_subdomain(own);
    problems(&Path::new("namespace"), own, found, errors);
}

fn reported(form: Form, object: &Value, errors: &mut Errors) {
    let root = Path::root();
    required(object, &root, form.controller, errors);
    let controller = object.text(form.controller);
    qualified_name(&root.child(form.controller), controller, errors);
    for field in ["reportingInstance", "action", "reason"] {
        required(object, &root, field, errors);
        if object.text(field).len() > 128 {
            let detail = "can have at most 128 characters";
            errors.push(FieldError::invalid(&root.child(field), "", detail));
        }
    }
    if object.text(form.note).len() > 1024 {
        let detail = "can have at most 1024 characters";
        errors.push(FieldError::invalid(&Path::new("message"), "", detail));
    }
}

fn series(object: &Value, errors: &mut Errors) {
    let series = object.at("series");
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

/// How the metadata are checked: events of the core group are taken as they come, however their sources name them.
fn rules(is_core: bool) -> metadata::Rules {
    let rules = metadata::Rules::namespaced();
    if is_core {
        rules.with_name(names::path_segment)
    } else {
        rules
    }
}
