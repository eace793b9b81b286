//! Tables and metadata-only objects: the forms that clients can ask for instead of the object.

use jiff::Timestamp;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::Edit as _;
use kubewright_registry::{Column, Resource};
use serde_json::{Map, Value, json};

use super::query::Query;

/// What stands beside a row's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

impl Include {
    /// Reads the `includeObject` parameter.
    ///
    /// # Errors
    /// 400 for a word that does not exist.
    pub(crate) fn read(query: &Query) -> Result<Self> {
        match query.text("includeObject") {
            "None" => Ok(Self::Nothing),
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            other => Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', \
                 'Object', 'None', or empty",
                quoted(other)
            ))),
        }
    }
}

/// A table without rows.
pub(crate) fn empty(resource: &Resource, version: &str) -> Value {
    let kind = (resource.group.as_str(), resource.kind.as_str());
    let columns = resource.strategy.columns(kind);
    let definitions: Vec<Value> = columns.iter().map(described).collect();
    json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": {},
        "columnDefinitions": definitions,
        "rows": [],
    })
}

fn described(column: &Column<'_>) -> Value {
    json!({
        "name": column.name,
        "type": column.kind,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    })
}

/// All rows. Definitions have a table maker of their own, which writes none as null.
pub(crate) fn rows(resource: &Resource, rows: Vec<Value>) -> Value {
    if rows.is_empty() && resource.group == "apiextensions.k8s.io" {
        return Value::Null;
    }
    rows.into()
}

/// Whether there are tables of what stands at this sub-resource (of the object itself, if it is empty).
pub(crate) fn exists(resource: &Resource, subresource: &str) -> bool {
    !matches!(
        (resource.plural.as_str(), subresource),
        ("pods", "ephemeralcontainers" | "resize" | "log")
            | ("certificatesigningrequests", "approval")
            | (
                "apiservices" | "customresourcedefinitions" | "resourceclaims",
                "status"
            )
    )
}

/// One object's row.
pub(crate) fn row(
    resource: &Resource,
    object: Value,
    version: &str,
    include: Include,
    now: Timestamp,
) -> Value {
    let mut row = Map::new();
    let cells = resource.strategy.cells(&object, now);
    row.insert("cells".to_owned(), cells.into());
    if let Some(conditions) = conditions(resource, &object) {
        row.insert("conditions".to_owned(), conditions);
    }
    let beside = match include {
        // An annotation says that the initial events have ended: clients without objects get it, too.
        Include::Nothing if !ends_initial_events(&object) => Value::Null,
        Include::Nothing | Include::Metadata => {
            let mut beside = partial(object, version);
            forget_old_version(resource, &mut beside);
            beside
        }
        Include::Object => object,
    };
    row.insert("object".to_owned(), beside);
    Value::Object(row)
}

fn ends_initial_events(object: &Value) -> bool {
    object["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true"
}

/// The annotation that a field of an old version became is there in whole objects alone.
fn forget_old_version(resource: &Resource, beside: &mut Value) {
    if (resource.group.as_str(), resource.kind.as_str()) != ("apps", "DaemonSet") {
        return;
    }
    let Some(metadata) = beside.existing("metadata") else {
        return;
    };
    if let Some(annotations) = metadata.existing("annotations") {
        annotations.drop_field("deprecated.daemonset.template.generation");
        if annotations.as_object().is_some_and(Map::is_empty) {
            metadata.drop_field("annotations");
        }
    }
}

/// A pod that is done is marked, so that clients can show it less.
fn conditions(resource: &Resource, object: &Value) -> Option<Value> {
    if !resource.group.is_empty() || resource.kind != "Pod" {
        return None;
    }
    let (reason, message) = match object["status"]["phase"].as_str()? {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([
        {"type": "Completed", "status": "True", "reason": reason, "message": message},
    ]))
}

/// The object's metadata alone.
pub(crate) fn partial(mut object: Value, version: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": object["metadata"].take(),
    })
}
