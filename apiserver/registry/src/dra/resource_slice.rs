//! Slices of devices that drivers offer.

use std::borrow::Cow;

use jiff::Timestamp;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::conversion::has_same_shape;
use crate::behavior::Behavior;
use crate::columns::Row;
use crate::defaults::devices::slice;
use crate::dra::validation;
use crate::fields;
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::cluster_scoped();

const FIELDS: [&str; 3] = ["spec.nodeName", "spec.driver", "spec.pool.name"];

/// The strategy of slices.
#[derive(Debug)]
pub(crate) struct ResourceSlice {
    /// The version of its objects.
    pub(super) version: String,
}

impl Strategy for ResourceSlice {
    fn default(&self, object: &mut Value) {
        slice(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
        close_gates(object);
    }

    /// What of a slice is behind a closed gate is dropped only after it counted as a change.
    fn prepare_for_update(&self, _subresource: &str, new: &mut Value, old: &Value) {
        let kind = ["resource.k8s.io", &self.version, "ResourceSlice"];
        let is_changed = generation::is_changed(kind, "spec", new, old);
        close_gates(new);
        if is_changed || generation::is_changed(kind, "spec", new, old) {
            generation::count(new, old);
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        validation::check("ResourceSlice", object, &Value::Null, errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.changed(new, old, errors);
        validation::check("ResourceSlice", new, old, errors);
    }

    fn warnings(&self, new: &Value, _old: &Value) -> Vec<String> {
        let driver = new.at("spec").text("driver");
        if driver == driver.to_lowercase() {
            return Vec::new();
        }
        vec![format!(
            "spec.driver: driver names should be lowercase; {} contains uppercase characters",
            quoted(driver)
        )]
    }

    fn convert(&self, _object: &mut Value, from: (&str, &str), to: (&str, &str)) -> bool {
        has_same_shape(from, to)
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn check_field(&self, field: &str) -> Result<(), String> {
        fields::check(&FIELDS, false, field).map_err(|_| {
            let version = &self.version;
            format!(
                "field label not supported for resource.k8s.io/{version}, Kind=ResourceSlice: {field}"
            )
        })
    }

    fn indexed_field(&self) -> Option<&'static str> {
        Some("spec.nodeName")
    }

    fn field_value<'a>(&self, object: &'a Value, field: &str) -> Option<Cow<'a, str>> {
        if let Some(generic) = fields::generic(object, false, field) {
            return Some(generic);
        }
        if !FIELDS.contains(&field) {
            return None;
        }
        Some(fields::shown(fields::at(object, field)))
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            returns_deleted: true,
            ..Behavior::default()
        }
    }
}

fn close_gates(object: &mut Value) {
    if let Some(spec) = object.existing("spec") {
        devices_of(spec);
    }
}

fn devices_of(spec: &mut Value) {
    spec.drop_field("partitionTypeAttribute");
    spec.drop_field("skipNodeOperations");
    for device in spec.each("devices") {
        device.drop_field("nodeAllocatableResources");
        for consumed in device.each("consumesCounters") {
            consumed.drop_field("compatibilityGroups");
        }
        let Some(Value::Object(attributes)) = device.get_mut("attributes") else {
            continue;
        };
        for (_, attribute) in attributes.iter_mut() {
            for list in ["bools", "ints", "strings", "versions"] {
                attribute.drop_field(list);
            }
        }
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    vec![
        row.name(),
        spec.text("nodeName").into(),
        spec.text("driver").into(),
        spec.at("pool").text("name").into(),
        row.age(),
    ]
}
