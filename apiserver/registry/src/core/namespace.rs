//! Namespaces.

use std::borrow::Cow;

use jiff::Timestamp;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::core::validation::config;
use crate::fields;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::cluster_scoped().with_name(names::dns1123_label);
const FIELDS: [&str; 1] = ["status.phase"];

/// The strategy of namespaces.
#[derive(Debug)]
pub(crate) struct Namespace;

impl Strategy for Namespace {
    fn default(&self, object: &mut Value) {
        default(object);
        fill_status(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        object.put("status", empty());
        fill_status(object);
        create(object);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        match subresource {
            "" => {
                new.take_from(old, "status");
                if let Some(spec) = new.part("spec") {
                    spec.take_from(old.at("spec"), "finalizers");
                }
            }
            "status" => new.take_from(old, "spec"),
            "finalize" => new.take_from(old, "status"),
            _ => {}
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        config::namespace(object, errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        match subresource {
            "" => {
                METADATA.create(new, errors);
                config::namespace(new, errors);
                METADATA.changed(new, old, errors);
            }
            "status" => {
                METADATA.changed(new, old, errors);
                config::namespace_status(new, errors);
            }
            "finalize" => {
                METADATA.changed(new, old, errors);
                config::namespace_finalize(new, errors);
            }
            _ => {}
        }
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn check_field(&self, field: &str) -> Result<(), String> {
        fields::check(&FIELDS, false, field)
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

fn fill_status(object: &mut Value) {
    if let Some(status) = object.part("status") {
        status.fill_text("phase", "Active");
    }
}

fn create(object: &mut Value) {
    let name = object.at("metadata").text("name").to_owned();
    // Kubernetes labels a namespace with a generated name after its validation, so that an invalid one has no label.
    if names::dns1123_label(&name).is_empty()
        && let Some(labels) = object
            .part("metadata")
            .and_then(|metadata| metadata.part("labels"))
    {
        labels.put("kubernetes.io/metadata.name", name);
    }
    if let Some(spec) = object.part("spec") {
        let mut finalizers = spec.list("finalizers").to_vec();
        if !finalizers.iter().any(|name| name == "kubernetes") {
            finalizers.push("kubernetes".into());
        }
        spec.put("finalizers", finalizers);
    }
}

fn default(object: &mut Value) {
    let name = object.at("metadata").text("name").to_owned();
    if !name.is_empty()
        && let Some(labels) = object
            .part("metadata")
            .and_then(|metadata| metadata.part("labels"))
    {
        labels.put("kubernetes.io/metadata.name", name);
    }
    object.part("spec");
}

fn cells(row: Row<'_>) -> Vec<Value> {
    vec![row.name(), row.status().text("phase").into(), row.age()]
}
