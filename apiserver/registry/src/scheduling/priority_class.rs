//! Priority classes.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use crate::columns::Row;
use crate::columns::text::count;
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::check::{Errors, immutable};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::cluster_scoped();

/// The strategy of priority classes. Their generation is never counted on.
#[derive(Debug)]
pub(crate) struct PriorityClass;

impl Strategy for PriorityClass {
    fn default(&self, object: &mut Value) {
        object.fill("preemptionPolicy", "PreemptLowerPriority");
        object.fill("value", 0);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        check(object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        METADATA.changed(new, old, &mut found.errors);
        check_update(new, old, &mut found.errors);
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }
}

fn check(object: &Value, errors: &mut Errors) {
    const HIGHEST: i64 = 1_000_000_000;
    let root = Path::root();
    let name = object.at("metadata").text("name");
    let value = object.int("value").unwrap_or(0);
    let system = matches!(name, "system-node-critical" | "system-cluster-critical");
    if name.starts_with("system-") && !system {
        errors.push(FieldError::forbidden(
            &Path::new("metadata.name"),
            &format!("priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a known system priority class"),
        ));
    } else if !system && value > HIGHEST {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST}");
        errors.push(FieldError::forbidden(&root.child("value"), &detail));
    }
    kubewright_validation::pod::preemption(object, &root, errors);
}

fn check_update(new: &Value, old: &Value, errors: &mut Errors) {
    let root = Path::root();
    if new.int("value").unwrap_or(0) != old.int("value").unwrap_or(0) {
        let detail = "may not be changed in an update.";
        errors.push(FieldError::forbidden(&root.child("value"), detail));
    }
    immutable(new, old, &root, "preemptionPolicy", errors);
}

fn cells(row: Row<'_>) -> Vec<Value> {
    vec![
        row.name(),
        count(row.object, "value").into(),
        row.object.flag("globalDefault").into(),
        row.age(),
        row.object.text("preemptionPolicy").into(),
    ]
}
