//! Pod templates.

use jiff::Timestamp;
use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::columns::text::{containers, labels};
use crate::defaults::pod::template;
use crate::generation;
use crate::pod_gates;
use crate::strategy::{Creation, Findings, Strategy};
use crate::warnings::workload;
use kubewright_validation::check::Errors;
use kubewright_validation::metadata::Rules;
use kubewright_validation::pod;

const KIND: [&str; 3] = ["", "v1", "PodTemplate"];
const METADATA: Rules = Rules::namespaced();

/// The strategy of pod templates.
#[derive(Debug)]
pub(crate) struct PodTemplate;

impl Strategy for PodTemplate {
    fn default(&self, object: &mut Value) {
        template(object, "template");
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
        pod_gates::close(object, &["template", "spec"]);
    }

    fn prepare_for_update(&self, _subresource: &str, new: &mut Value, old: &Value) {
        pod_gates::close(new, &["template", "spec"]);
        if generation::is_changed(KIND, "template", new, old) {
            generation::count(new, old);
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        check(object, errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.changed(new, old, errors);
        check(new, errors);
    }

    fn warnings(&self, new: &Value, old: &Value) -> Vec<String> {
        let mut out = Vec::new();
        workload("template", new, old, new.at("template"), &mut out);
        out
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            returns_deleted: true,
            ..Behavior::default()
        }
    }
}

fn check(object: &Value, errors: &mut Errors) {
    pod::template(&object["template"], &Path::new("template"), errors);
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let template = row.object.at("template");
    let (names, images) = containers(template.at("spec"));
    let pod_labels = labels(template.at("metadata").at("labels"));
    vec![row.name(), names, images, pod_labels.into()]
}
