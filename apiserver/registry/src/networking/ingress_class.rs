//! Ingress classes.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::reference::reference;
use crate::columns::Row;
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::check::{
    Errors, declared_required, domain_path, immutable_as, label, one_of_if_set,
};
use kubewright_validation::metadata::Rules;

const KIND: [&str; 3] = ["networking.k8s.io", "v1", "IngressClass"];
const METADATA: Rules = Rules::cluster_scoped();

/// The strategy of ingress classes.
#[derive(Debug)]
pub(crate) struct IngressClass;

impl Strategy for IngressClass {
    fn default(&self, object: &mut Value) {
        default(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
    }

    fn prepare_for_update(&self, _subresource: &str, new: &mut Value, old: &Value) {
        generation::count_spec(KIND, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        check(object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.changed(new, old, errors);
        check_update(new, old, errors);
        METADATA.create(new, errors);
        check(new, errors);
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }
}

fn default(object: &mut Value) {
    if let Some(spec) = object.part("spec")
        && let Some(parameters) = spec.existing("parameters")
    {
        parameters.fill("scope", "Cluster");
    }
}

fn check(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    let controller = spec.text("controller");
    let at = path.child("controller");
    if controller.len() > 250 {
        errors.push(FieldError::too_long(&at, 250));
    }
    domain_path(controller, &at, errors);
    let parameters = spec.at("parameters");
    if parameters.is_null() {
        return;
    }
    let at = path.child("parameters");
    reference(parameters, &at, declared_required, errors);
    let scopes = ["Cluster", "Namespace"];
    one_of_if_set(parameters, &at, "scope", &scopes, errors);
    let namespace = parameters.text("namespace");
    let at = at.child("namespace");
    match parameters.text("scope") {
        "Namespace" if !parameters.has("namespace") => {
            let detail = "`parameters.scope` is set to 'Namespace'";
            errors.push(FieldError::required(&at, detail));
        }
        "Namespace" => label(&at, namespace, errors),
        "Cluster" if parameters.has("namespace") => {
            let detail = "`parameters.scope` is set to 'Cluster'";
            errors.push(FieldError::forbidden(&at, detail));
        }
        _ => {}
    }
}

fn check_update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    immutable_as(
        "s",
        new.at("spec"),
        old.at("spec"),
        &path,
        "controller",
        errors,
    );
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let parameters = row.spec().at("parameters");
    let shown = if parameters.is_null() {
        "<none>".to_owned()
    } else {
        let group = parameters.at("apiGroup").as_str();
        let group = group.map_or(String::new(), |group| format!(".{group}"));
        let (kind, name) = (parameters.text("kind"), parameters.text("name"));
        format!("{kind}{group}/{name}")
    };
    let controller = row.spec().text("controller").into();
    vec![row.name(), controller, shown.into(), row.age()]
}
