//! Classes of attributes of volumes.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::default_name::default_name;
use super::provisioner::{parameters, provisioner};
use crate::behavior::Behavior;
use crate::columns::Row;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::check::{Errors, required};
use kubewright_validation::metadata::Rules;
use kubewright_validation::semantic::same;

const METADATA: Rules = Rules::cluster_scoped();

/// The strategy of classes of attributes.
#[derive(Debug)]
pub(crate) struct VolumeAttributesClass;

impl Strategy for VolumeAttributesClass {
    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        protect(object);
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

    fn behavior(&self) -> Behavior {
        Behavior {
            returns_deleted: true,
            ..Behavior::default()
        }
    }
}

/// A class of attributes stays until no volume has it.
fn protect(object: &mut Value) {
    const FINALIZER: &str = "kubernetes.io/vac-protection";
    if let Some(metadata) = object.part("metadata") {
        let mut finalizers = metadata.list("finalizers").to_vec();
        if !finalizers.iter().any(|name| name == FINALIZER) {
            finalizers.push(FINALIZER.into());
            metadata.put("finalizers", finalizers);
        }
    }
}

fn check(object: &Value, errors: &mut Errors) {
    provisioner(object, "driverName", required, errors);
    parameters(object, errors);
    if object.entries("parameters").next().is_none() {
        let detail = "must contain at least one key/value pair";
        errors.push(FieldError::required(&Path::new("parameters"), detail));
    }
}

fn check_update(new: &Value, old: &Value, errors: &mut Errors) {
    for field in ["driverName", "parameters"] {
        if !same(new.at(field), old.at(field)) {
            let detail = format!("updates to {field} are forbidden.");
            errors.push(FieldError::forbidden(&Path::new(field), &detail));
        }
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let mark = "volumeattributesclass.alpha.kubernetes.io/is-default-class";
    let driver = row.object.text("driverName").into();
    vec![default_name(row, &[mark]), driver, row.age()]
}
