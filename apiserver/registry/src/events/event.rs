//! Events: those of the core group, and the same objects in a group of their own.

use std::borrow::Cow;

use jiff::Timestamp;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::{conversion, validation};
use crate::behavior::Behavior;
use crate::columns::Row;
use crate::columns::text::{count, or};
use crate::strategy::{Findings, Strategy};

/// The fields of the core group that events are selected by.
const CORE_FIELDS: [&str; 11] = [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];
/// The same fields in events.k8s.io.
const OWN_FIELDS: [&str; 11] = [
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "source",
    "type",
];

/// The strategy of events in both groups.
#[derive(Debug)]
pub(crate) struct Event {
    /// Whether they are those of the core group.
    pub(super) is_core: bool,
}

impl Strategy for Event {
    fn default(&self, object: &mut Value) {
        if self.is_core {
            default(object);
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        validation::create(self.is_core, object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        validation::update(self.is_core, new, old, &mut found.errors);
    }

    fn convert(&self, object: &mut Value, from: (&str, &str), to: (&str, &str)) -> bool {
        match (from.0, to.0) {
            ("", "events.k8s.io") => conversion::from_core(object),
            ("events.k8s.io", "") => conversion::to_core(object),
            // Both versions of events.k8s.io have one shape.
            _ => {}
        }
        true
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        if self.is_core {
            return cells(Row { object, now });
        }
        let mut object = object.clone();
        conversion::to_core(&mut object);
        cells(Row {
            object: &object,
            now,
        })
    }

    fn check_field(&self, field: &str) -> Result<(), String> {
        let is_generic = matches!(field, "metadata.name" | "metadata.namespace");
        if is_generic || self.fields().contains(&field) {
            return Ok(());
        }
        Err(format!("field label not supported: {field}"))
    }

    fn field_value<'a>(&self, object: &'a Value, field: &str) -> Option<Cow<'a, str>> {
        let metadata = object.at("metadata");
        match field {
            "metadata.name" => Some(metadata.text("name").into()),
            "metadata.namespace" => Some(metadata.text("namespace").into()),
            _ if self.fields().contains(&field) => {
                Some(selected(self.is_core, object, field).into())
            }
            _ => None,
        }
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            create_on_update: true,
            ..Behavior::default()
        }
    }
}

impl Event {
    fn fields(&self) -> &'static [&'static str] {
        if self.is_core {
            &CORE_FIELDS
        } else {
            &OWN_FIELDS
        }
    }
}

/// Events are compared in the form of their own group; `source` is the component, or who reports.
fn selected<'a>(is_core: bool, object: &'a Value, field: &str) -> &'a str {
    let (source, reporter) = if is_core {
        ("source", "reportingComponent")
    } else {
        ("deprecatedSource", "reportingController")
    };
    let component = object.at(source).text("component");
    match field {
        "source" if component.is_empty() => object.text(reporter),
        "source" => component,
        _ => field
            .split('.')
            .fold(object, |value, part| value.at(part))
            .as_str()
            .unwrap_or_default(),
    }
}

fn default(object: &mut Value) {
    object.part("involvedObject");
    object.part("source");
    for field in ["reportingComponent", "reportingInstance"] {
        object.fill(field, "");
    }
    for field in ["eventTime", "firstTimestamp", "lastTimestamp"] {
        object.fill(field, Value::Null);
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let event = row.object;
    let first = if event.has("firstTimestamp") {
        row.since(event.at("firstTimestamp"))
    } else {
        row.since(event.at("eventTime"))
    };
    let mut last = if event.has("lastTimestamp") {
        row.since(event.at("lastTimestamp"))
    } else {
        first.clone()
    };
    let mut times = count(event, "count");
    let series = event.at("series");
    if series.is_object() {
        last = row.since(series.at("lastObservedTime"));
        times = count(series, "count");
    } else if times == 0 {
        times = 1;
    }
    let about = event.at("involvedObject");
    let mut target = about.text("kind").to_lowercase();
    if !about.text("name").is_empty() {
        target.push('/');
        target.push_str(about.text("name"));
    }
    vec![
        last.into(),
        event.text("type").into(),
        event.text("reason").into(),
        target.into(),
        about.text("fieldPath").into(),
        event_source(event).into(),
        event.text("message").trim().into(),
        first.into(),
        times.into(),
        row.name(),
    ]
}

fn event_source(event: &Value) -> String {
    let source = event.at("source");
    let component = or(source.text("component"), event.text("reportingComponent"));
    let host = or(source.text("host"), event.text("reportingInstance"));
    if host.is_empty() {
        component
    } else {
        format!("{component}, {host}")
    }
}
