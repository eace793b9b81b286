//! Replication controllers.

use std::borrow::Cow;

use jiff::Timestamp;
use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::view::{Edit, View, empty};
use kubewright_storage::ReadBack;
use serde_json::{Map, Value};

use crate::apps::{status, validation};
use crate::behavior::Behavior;
use crate::behavior::Propagation;
use crate::columns::Row;
use crate::columns::workloads::replication_controller;
use crate::defaults::pod;
use crate::defaults::workloads::{labels_of_template, read_back_labels};
use crate::fields;
use crate::generation;
use crate::pod_gates;
use crate::strategy::{Creation, Findings, Strategy};
use crate::warnings::{name, workload};
use kubewright_validation::check::{declaratively, subdomain};
use kubewright_validation::metadata::Rules;

const KIND: [&str; 3] = ["", "v1", "ReplicationController"];
/// Declarative validation checks the name.
const METADATA: Rules = Rules::namespaced()
    .without_generated_name()
    .with_name(|_| Vec::new());

const FIELDS: [&str; 1] = ["status.replicas"];

/// The strategy of replication controllers.
#[derive(Debug)]
pub(crate) struct ReplicationController;

impl Strategy for ReplicationController {
    fn default(&self, object: &mut Value) {
        default(object);
        fill_status(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
        object.put("status", empty());
        fill_status(object);
        pod_gates::close(object, &["spec", "template", "spec"]);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            return new.take_from(old, "spec");
        }
        pod_gates::close(new, &["spec", "template", "spec"]);
        new.take_from(old, "status");
        generation::count_spec(KIND, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        // Where nothing is checked declaratively, the name comes before the rest of the metadata.
        let name = object.at("metadata").text("name");
        if !name.is_empty() {
            declaratively(errors, |errors| {
                subdomain(&Path::new("metadata.name"), name, errors);
            });
        }
        METADATA.create(object, errors);
        validation::replication_controller(object, errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        match subresource {
            "" => {
                METADATA.changed(new, old, errors);
                validation::replication_controller(new, errors);
            }
            "status" => {
                METADATA.changed(new, old, errors);
                status::replicas(new.at("status"), errors);
            }
            _ => {}
        }
    }

    fn warnings(&self, new: &Value, old: &Value) -> Vec<String> {
        let mut out = Vec::new();
        if old.is_null() {
            name(new, "used in Pod names and hostnames", &mut out);
        }
        // The real server mixes up the two templates.
        let about = if old.is_null() { new } else { old };
        let template = about.at("spec").at("template");
        workload("spec.template", new, old, template, &mut out);
        out
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn is_read_back(&self, _object: &Value) -> bool {
        true
    }

    fn read_back(&self, object: &mut Value) -> ReadBack {
        read_back_labels(object)
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        replication_controller(Row { object, now })
    }

    fn check_field(&self, field: &str) -> Result<(), String> {
        fields::check(&FIELDS, true, field)
    }

    fn field_value<'a>(&self, object: &'a Value, field: &str) -> Option<Cow<'a, str>> {
        if let Some(generic) = fields::generic(object, true, field) {
            return Some(generic);
        }
        if !FIELDS.contains(&field) {
            return None;
        }
        Some(match fields::at(object, field) {
            // Go's values that are not pointers have one even where it is not written.
            Value::Null if field == "status.replicas" => "0".into(),
            other => fields::shown(other),
        })
    }

    /// For clients from before garbage collection, the kind leaves its pods alone.
    fn behavior(&self) -> Behavior {
        Behavior {
            propagation: Propagation::Orphan,
            ..Behavior::default()
        }
    }
}

fn fill_status(object: &mut Value) {
    if let Some(status) = object.part("status") {
        status.fill("replicas", 0);
    }
}

fn default(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    let labels = spec.at("template").at("metadata").at("labels").clone();
    if !labels.is_null() && spec.map("selector").is_none_or(Map::is_empty) {
        spec.put("selector", labels);
    }
    spec.fill("replicas", 1);
    if spec.has("template") {
        pod::template(spec, "template");
    }
    labels_of_template(object);
}
