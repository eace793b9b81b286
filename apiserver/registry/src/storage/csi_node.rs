//! The drivers for storage of a node.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::metadata;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::check::driver_name;
use kubewright_validation::check::{Errors, IMMUTABLE, not_negative, qualified_name, required};
use kubewright_validation::internal::shown;
use kubewright_validation::metadata::Rules;
use kubewright_validation::semantic::same;

const METADATA: Rules = Rules::cluster_scoped();

/// The strategy of the drivers of a node.
#[derive(Debug)]
pub(crate) struct CSINode;

impl Strategy for CSINode {
    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        object.put("status", empty());
    }

    /// All of the status is behind a feature gate that is off.
    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            new.take_from(old, "spec");
            metadata::reset(new, old);
        }
        new.put("status", empty());
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        check(object, &mut found.errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        if subresource == "status" {
            return METADATA.changed(new, old, errors);
        }
        METADATA.create(new, errors);
        check(new, errors);
        check_update(new, old, errors);
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["metadata"], &["spec"]],
            _ => &[&["status"]],
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            unconditional_update: false,
            returns_deleted: true,
            ..Behavior::default()
        }
    }
}

fn check(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec.drivers");
    let drivers = spec.list("drivers");
    for (index, driver) in drivers.iter().enumerate() {
        let at = path.index(index);
        let (name, id) = (driver.text("name"), driver.text("nodeID"));
        driver_name(name, &at.child("name"), errors);
        required(driver, &at, "nodeID", errors);
        if id.len() > 192 {
            let detail = "must be 192 characters or less";
            errors.push(FieldError::invalid(&at.child("nodeID"), id, detail));
        }
        let allocatable = at.child("allocatable");
        not_negative(driver.at("allocatable"), &allocatable, "count", errors);
        let twice = |other: &Value| other.text("name") == name;
        if drivers[..index].iter().any(twice) {
            errors.push(FieldError::duplicate(&at.child("name"), name));
        }
        let keys = driver.list("topologyKeys");
        for (index, key) in keys.iter().enumerate() {
            let text = key.as_str().unwrap_or_default();
            if text.is_empty() {
                errors.push(FieldError::required(&at, ""));
            }
            if keys[..index].contains(key) {
                errors.push(FieldError::duplicate(&at, text));
            }
            qualified_name(&at, text, errors);
        }
    }
}

/// What a driver said of itself stays, but for how much it can take.
fn check_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    for old in before.list("drivers") {
        for new in spec.list("drivers") {
            let mut new = new.clone();
            new.take_from(old, "allocatable");
            if new.text("name") == old.text("name") && !same(&new, old) {
                new.drop_field("allocatable");
                let value = shown("storage.CSINodeDriver", &new);
                let at = Path::new("spec.drivers");
                errors.push(FieldError::invalid_shown(&at, &value, IMMUTABLE));
            }
        }
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let drivers = row.spec().list("drivers").len().into();
    vec![row.name(), drivers, row.age()]
}
