//! API services.

use jiff::Timestamp;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use crate::behavior::Behavior;
use crate::column::Column;
use crate::columns::Row;
use crate::columns::titles::text;
use crate::columns::titles::{AGE, NAME};
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::cluster_scoped()
    .with_name(names::path_segment)
    .with_qualified_finalizers();

/// The strategy of API services.
#[derive(Debug)]
pub(crate) struct APIService;

impl Strategy for APIService {
    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        object.put("status", empty());
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            return new.take_from(old, "spec");
        }
        new.take_from(old, "status");
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        METADATA.changed(new, old, &mut found.errors);
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn columns(&self) -> Vec<Column<'_>> {
        COLUMNS.to_vec()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            unconditional_update: false,
            ..Behavior::default()
        }
    }
}

const COLUMNS: &[Column<'static>] = &[
    NAME,
    text("Service", "who serves the group"),
    text("Available", "whether it is served"),
    AGE,
];

fn cells(row: Row<'_>) -> Vec<Value> {
    let service = row.spec().at("service");
    let server = if service.is_null() {
        "Local".to_owned()
    } else {
        format!("{}/{}", service.text("namespace"), service.text("name"))
    };
    let conditions = row.status().list("conditions");
    let available = conditions
        .iter()
        .find(|condition| condition.text("type") == "Available");
    let available = match available.map(|it| (it.text("status"), it.text("reason"))) {
        None => "Unknown".to_owned(),
        Some((status, reason)) if status != "True" && !reason.is_empty() => {
            format!("{status} ({reason})")
        }
        Some((status, _)) => status.to_owned(),
    };
    vec![row.name(), server.into(), available.into(), row.age()]
}
